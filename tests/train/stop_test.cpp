// What a stop leaves, wherever in a run it is asked for, and what a run leaves whose gradients are
// not finite.
#include "skein/train/stop.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

#include "skein/core/json.h"
#include "skein/train/best_weights.h"
#include "skein/train/run_state.h"
#include "skein/train/tasks/language_task.h"

#include "train/train_fixture.h"

namespace skein::train {
namespace {

// Another's task whose validation number `at` meets a signal. files: its data.
class StoppedInValidation : public Task {
 public:
  StoppedInValidation(const Task& task, int at, std::vector<data::DataFile> files = {})
      : task_(task), at_(at), files_(std::move(files)) {}
  std::vector<data::DataFile> data_files() const override { return files_; }
  const data::SampleSource& samples() const override { return task_.samples(); }
  int64_t length() const override { return task_.length(); }
  text::StoredTokenizer tokenizer() const override { return task_.tokenizer(); }
  bool validates() const override { return task_.validates(); }
  Scores validate(const EvaluatedModel& model) const override {
    if (++validations_ == at_ && model.mesh.world().rank() == 0) raise(SIGUSR1);
    return task_.validate(model);
  }

 private:
  const Task& task_;
  int at_;
  std::vector<data::DataFile> files_;
  mutable int validations_ = 0;
};

std::vector<nlohmann::json> metrics_of(const std::string& run) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(run + "/metrics.jsonl");
  for (std::string text; std::getline(file, text);) {
    auto line = nlohmann::json::parse(text);
    for (const char* of_this_machine : {"seconds", "tokens_per_second", "model_flops_per_second",
                                        "peak_memory_bytes", "peak_tensor_bytes"})
      line.erase(of_this_machine);
    lines.push_back(std::move(line));
  }
  return lines;
}

class Stop : public testing::Test {
 protected:
  void SetUp() override { write_small_store(folder_.file("train.h5")); }

  PretrainConfig config() const {
    PretrainConfig c = small_config(folder_.file("train.h5"));
    c.data.validation = c.data.train;
    c.validation.every = 4;
    c.validation.patience = 100;
    c.validation.eval.windows = 40;
    return c;
  }

  TrainResult stopped_in_validation(PretrainConfig c, int ranks, const std::string& name, int at,
                                    const std::vector<data::DataFile>& files = {}) const {
    c.run.dir = folder_.file(name);
    TrainResult found;
    run_ranks(ranks, [&](Group& world) {
      PretrainConfig own = c;
      const auto task = language_task(own);
      StoppedInValidation stopped(*task, at, files);
      const TrainResult result = train(own, stopped, world);
      if (world.rank() == 0) found = result;
    });
    return found;
  }

  test::Scratch folder_;
};

// It is made again, as if nothing had been: the same metrics, the same best weights, the same bits.
TEST_F(Stop, InsideAValidationIsCommittedAtOnceAndTheValidationMadeAgain) {
  const Finished expected = train(config(), 1, folder_, "expected");
  for (const int ranks : {1, 2}) {
    const std::string name = fmt::format("run{}", ranks);
    const TrainResult stopped = stopped_in_validation(config(), ranks, name, 2);
    EXPECT_TRUE(stopped.stopped);
    EXPECT_TRUE(stopped.committed);
    EXPECT_EQ(stopped.step, 8);
    EXPECT_TRUE(newest_state(folder_.file(name)).validation_owed);
    EXPECT_EQ(metrics_of(folder_.file(name)).size(), 9u) << "one evaluation was made";
    EXPECT_EQ(first_difference(train(config(), ranks, folder_, name).state, expected.state), "");
    EXPECT_EQ(metrics_of(folder_.file(name)), metrics_of(folder_.file("expected")));
    const RunState found = newest_state(folder_.file(name)),
                   whole = newest_state(folder_.file("expected"));
    EXPECT_FALSE(found.validation_owed);
    EXPECT_EQ(found.best_step, whole.best_step);
    EXPECT_EQ(found.best_quality, whole.best_quality);
    EXPECT_EQ(found.fruitless, whole.fruitless);
  }
}

TEST_F(Stop, InsideTheLastValidationKeepsTheLastStep) {
  const TrainResult stopped = stopped_in_validation(config(), 2, "run", 5);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.step, 20);
  EXPECT_EQ(newest_state(folder_.file("run")).step, 20);
  const Finished resumed = train(config(), 1, folder_, "run");
  EXPECT_TRUE(resumed.losses.empty());
  EXPECT_EQ(resumed.validation, train(config(), 1, folder_, "expected").validation);
}

// As a sweep looks while a cell is loaded.
TEST_F(Stop, BeforeTheFirstStepIsNoStepAndNoCommit) {
  const StopSignals another;
  raise(SIGUSR2);
  PretrainConfig c = config();
  c.run.dir = folder_.file("run");
  const auto alone = single_rank();
  const TrainResult stopped = pretrain(c, *alone);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.step, 0);
  EXPECT_FALSE(stopped.committed);
  EXPECT_TRUE(checkpoint::list_checkpoints(c.run.dir).empty());
}

class ComparedData : public Stop {
 protected:
  // 48 MB to be compared, `times` over.
  std::vector<data::DataFile> files(int times) const {
    const std::string path = folder_.file("large.h5");
    if (!std::filesystem::exists(path)) {
      data::TokenStoreWriter writer(path, 100'000, -1, "{}");
      const std::vector<int32_t> ids(1'000'000, 7);
      for (int i = 0; i < 12; ++i) writer.add_document(ids, 1);
      writer.finish();
    }
    const auto store = std::make_shared<data::TokenStore>(path);
    std::vector<data::DataFile> all;
    for (int i = 0; i < times; ++i)
      all.push_back({"data.train", fmt::format("{} {}", path, i), 1, 1, store});
    return all;
  }
  PretrainConfig short_wait() const {
    PretrainConfig c = config();
    c.run.data_wait = std::chrono::milliseconds(50);
    c.validation.patience = 0;
    return c;
  }
};

TEST_F(ComparedData, IsNotWaitedForByStepsNorForLongByAStop) {
  PretrainConfig c = short_wait();
  c.checkpoint.every = 1;
  for (const int ranks : {1, 2}) {
    testing::internal::CaptureStderr();
    const TrainResult stopped = stopped_in_validation(c, ranks, "run", 1, files(4000));
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(stopped.stopped);
    EXPECT_EQ(stopped.step, 4);
    EXPECT_FALSE(stopped.committed);
    EXPECT_TRUE(checkpoint::list_checkpoints(folder_.file("run")).empty());
    const size_t once = told.find("no checkpoint yet: the token stores are still being compared");
    ASSERT_NE(once, std::string::npos) << told;
    EXPECT_EQ(told.find("no checkpoint yet", once + 1), std::string::npos) << told;
    EXPECT_NE(told.find("no checkpoint: after 0.1 s more"), std::string::npos) << told;
  }
}

TEST_F(ComparedData, IsWaitedForByAStopAsLongAsItMay) {
  PretrainConfig c = short_wait();
  c.checkpoint.every = 0;
  c.run.data_wait = std::chrono::minutes(2);
  const TrainResult stopped = stopped_in_validation(c, 2, "run", 1, files(20));
  EXPECT_TRUE(stopped.committed);
  EXPECT_EQ(newest_state(folder_.file("run")).step, 4);
}

// What would keep the best weights waits for it before it evaluates, and is asked meanwhile.
TEST_F(ComparedData, IsWaitedForWithAnEarForRequests) {
  PretrainConfig c = short_wait();
  c.validation.patience = 5;
  c.checkpoint.every = 0;
  std::thread asking([&] {
    while (!std::filesystem::exists(folder_.file("run") + "/metrics.jsonl"))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    raise(SIGUSR2);
  });
  const StopSignals early;
  const TrainResult stopped = stopped_in_validation(c, 2, "run", 0, files(4000));
  asking.join();
  EXPECT_TRUE(stopped.stopped);
  EXPECT_LE(stopped.step, 4);
  EXPECT_FALSE(stopped.committed);
}

TEST(BestWeights, AreNoneBehindAGradientThatIsNotFinite) {
  RunState state;
  state.step = 3;
  state.skipped_in_a_row = 1;
  keep_if_best(state, 1.0, nullptr, {}, {});
  EXPECT_EQ(state.best_step, -1);
  state.skipped_in_a_row = 0;
  keep_if_best(state, 1.0, nullptr, {}, {});
  EXPECT_EQ(state.best_step, 3);
  keep_if_best(state, 0.5, nullptr, {}, {});
  state.skipped_in_a_row = 1;
  for (const double quality : {0.5, 2.0}) keep_if_best(state, quality, nullptr, {}, {});
  EXPECT_EQ(state.fruitless, 1) << "neither is counted";
  EXPECT_EQ(state.best_quality, 1.0);
}

class NotFinite : public Stop {
 protected:
  PretrainConfig plain(int64_t steps) const {
    PretrainConfig c = small_config(folder_.file("train.h5"));
    c.checkpoint.every = 1;
    c.train.steps = steps;
    c.lr.warmup = 2;
    c.lr.decay_end = 20;
    return c;
  }
  // The first step at this rate is finite and ruins the weights.
  PretrainConfig ruinous(int64_t steps) const {
    PretrainConfig c = plain(steps);
    c.lr.lr = c.lr.min_lr = 1e30;
    c.lr.warmup = 0;
    return c;
  }
  std::string failure(const PretrainConfig& c, const std::string& name) const {
    return training_error(c, 2, folder_, name, ExitCode::failure);
  }
  std::vector<int64_t> committed(const std::string& name) const {
    std::vector<int64_t> steps;
    for (const checkpoint::CheckpointInfo& info : checkpoint::list_checkpoints(folder_.file(name)))
      steps.push_back(info.step);
    return steps;
  }
  void expect_word(const std::string& text, const std::string& word) const {
    EXPECT_NE(text.find(word), std::string::npos) << text;
  }
};

TEST_F(NotFinite, GradientsKeepTheLastGoodCheckpointAndTheAdviceHelps) {
  const Finished expected = train(plain(20), 1, folder_, "expected");
  for (const int64_t keep : {1, 2}) {
    const std::string name = fmt::format("keep{}", keep);
    PretrainConfig good = plain(10), bad = ruinous(20);
    good.checkpoint.keep = bad.checkpoint.keep = keep;
    train(good, 1, folder_, name);
    std::string ruined;
    // A supervisor tries again.
    for (int start = 0; start < 2; ++start) {
      const std::string text = failure(bad, name);
      ASSERT_EQ(committed(name), (std::vector<int64_t>{11, 10}));
      ruined = checkpoint::list_checkpoints(folder_.file(name)).front().path;
      expect_word(text, "3 steps in a row");
      expect_word(text, "no gradient was finite since the checkpoint of step 11: remove " + ruined +
                            " and resume from that of step 10 with a lower lr.lr than 1e+30");
    }
    std::filesystem::remove_all(ruined);
    good.train.steps = 20;
    EXPECT_EQ(first_difference(train(good, 1, folder_, name).state, expected.state), "") << keep;
  }
}

// The loss scale shrinks sixteen times before the gradients are no overflow any more.
TEST_F(NotFinite, GradientsInHalfPrecisionLeaveTheGoodCheckpointToo) {
  const auto half = [](PretrainConfig c) {
    c.train.precision = DType::f16;
    return c;
  };
  const Finished expected = train(half(plain(20)), 1, folder_, "expected");
  train(half(plain(10)), 1, folder_, "run");
  for (int start = 0; start < 2; ++start) {
    const std::string text = failure(half(ruinous(40)), "run");
    ASSERT_EQ(committed("run"), (std::vector<int64_t>{11, 10}));
    expect_word(text, "since the checkpoint of step 11: remove " +
                          checkpoint::list_checkpoints(folder_.file("run")).front().path +
                          " and resume from that of step 10 with");
  }
  std::filesystem::remove_all(checkpoint::list_checkpoints(folder_.file("run")).front().path);
  EXPECT_EQ(first_difference(train(half(plain(20)), 1, folder_, "run").state, expected.state), "");
}

// A start that has seen no finite gradient knows of no commit that is good, so all stay; one that
// knows says which.
TEST_F(NotFinite, GradientsFromTheFirstStepOnRetireNothing) {
  PretrainConfig good = plain(10), bad = ruinous(11);
  good.train.precision = bad.train.precision = DType::f16;
  good.checkpoint.keep = bad.checkpoint.keep = 1;
  train(good, 1, folder_, "run");
  train(bad, 1, folder_, "run");
  bad.train.steps = 12;
  train(bad, 1, folder_, "run");
  ASSERT_EQ(committed("run"), (std::vector<int64_t>{12, 11, 10}));
  const auto all = checkpoint::list_checkpoints(folder_.file("run"));
  const auto alone = single_rank();
  const std::string text = restart_advice(folder_.file("run/checkpoints"), 12, 10, *alone);
  expect_word(text,
              "remove " + all[0].path + ", " + all[1].path + " and resume from that of step 10");
}

TEST_F(NotFinite, GradientsOfTheLastStepAreAFailure) {
  const std::string text = failure(ruinous(2), "run");
  expect_word(
      text,
      "step 2, the last one, has no finite gradient norm, and what it leaves is not committed");
  expect_word(text, "and begin again with a lower lr.lr than 1e+30");
  EXPECT_EQ(committed("run"), (std::vector<int64_t>{1}));
}

TEST_F(NotFinite, GradientsAreNotCommittedByAStop) {
  train(ruinous(1), 1, folder_, "run");
  PretrainConfig c = ruinous(20);
  c.run.dir = folder_.file("run");
  const auto alone = single_rank();
  const auto stopped = [&] {
    std::ofstream(c.run.dir + "/stop") << "";
    return pretrain(c, *alone);
  };
  const TrainResult result = stopped();
  EXPECT_TRUE(result.stopped);
  EXPECT_TRUE(result.committed);
  EXPECT_EQ(result.step, 2);
  EXPECT_EQ(committed("run"), (std::vector<int64_t>{1}));
  // Another's weights are nothing to go on from.
  c.checkpoint.load = folder_.file("run");
  c.run.dir = folder_.file("other");
  std::filesystem::create_directories(c.run.dir);
  EXPECT_FALSE(stopped().committed);
}

}  // namespace
}  // namespace skein::train
