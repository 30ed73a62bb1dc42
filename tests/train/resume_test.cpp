// Saving, being killed, and going on at another layout.
#include <cmath>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>

#include "skein/train/run_state.h"
#include "skein/train/stop.h"

#include "train/train_fixture.h"

namespace skein::train {
namespace {

class Resume : public testing::Test {
 protected:
  void SetUp() override { write_small_store(folder_.file("train.h5")); }

  PretrainConfig config() const {
    PretrainConfig c = small_config(folder_.file("train.h5"));
    c.checkpoint.every = 8;
    c.checkpoint.keep = 10;
    return c;
  }
  // What a kill after step 8 leaves: later checkpoints never were.
  void forget_after_step_8(const std::string& run) const {
    for (const auto& entry :
         std::filesystem::directory_iterator(folder_.file(run) + "/checkpoints"))
      if (entry.path().filename().string().starts_with("step-") &&
          !entry.path().filename().string().starts_with("step-00000008"))
        std::filesystem::remove_all(entry.path());
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_.file(name));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string error_of(const PretrainConfig& c, int ranks, const std::string& name,
                       ExitCode code) const {
    return training_error(c, ranks, folder_, name, code);
  }

  test::Scratch folder_;
};

TEST_F(Resume, AtAnyOtherLayoutGivesEqualBits) {
  const Finished expected = train(config(), 1, folder_, "expected");
  struct Layout {
    int pipeline, data;
    bool zero;
  };
  const Layout layouts[] = {
      {1, 1, false}, {2, 2, true}, {4, 1, false}, {1, 4, true}, {2, 1, false}};
  int number = 0;
  for (const Layout& from : layouts)
    for (const Layout& to : layouts) {
      const std::string name = fmt::format("run{}", number++);
      PretrainConfig c = config();
      c.parallel.pipeline = from.pipeline;
      c.parallel.zero = from.zero;
      train(c, from.pipeline * from.data, folder_, name);
      forget_after_step_8(name);
      c.parallel.pipeline = to.pipeline;
      c.parallel.zero = to.zero;
      const Finished found = train(c, to.pipeline * to.data, folder_, name);
      EXPECT_EQ(found.losses,
                std::vector<double>(expected.losses.begin() + 8, expected.losses.end()))
          << name;
      EXPECT_EQ(first_difference(found.state, expected.state), "") << name;
    }
}

TEST(RunState, TakesOptionsThatACheckpointDoesNotKnowForTheirDefaults) {
  RunState stored;
  PretrainConfig c = small_config("train.h5");
  c.model.vocab_size = 64;
  stored.config = config_values(c);
  stored.config.erase("model.mup_base_width");
  stored.config.erase("optimizer.ridge");
  EXPECT_EQ(compare_with_stored(stored, c, {}, "old"), "");
  c.optimizer.ridge = 0.5;
  EXPECT_EQ(compare_with_stored(stored, c, {}, "old"), "\n  optimizer.ridge: 0 -> 0.5");
  c.model.mup_base_width = 8;
  EXPECT_THROW(compare_with_stored(stored, c, {}, "old"), Error);
}

TEST(RunState, OptionsOfTheRunMayDifferFromThoseOfTheCheckpoint) {
  RunState stored;
  PretrainConfig c = small_config("train.h5");
  c.model.vocab_size = 64;
  stored.config = config_values(c);
  c.model.dropout = 0.5;
  c.model.stochastic_depth = 0.25;
  c.model.head_std = 1;
  EXPECT_EQ(compare_with_stored(stored, c, {}, "old"),
            "\n  model.dropout: 0.1 -> 0.5\n  model.head_std: -1 -> 1"
            "\n  model.stochastic_depth: 0 -> 0.25");
}

// With a scale that doubles until gradients overflow, and with weights rounded at random.
TEST_F(Resume, InF16AndWithStochasticRoundingGivesEqualBits) {
  for (bool half : {true, false}) {
    PretrainConfig c = config();
    c.train.precision = half ? DType::f16 : DType::bf16;
    c.train.loss_scale.window = 1;
    c.optimizer.stochastic_rounding = !half;
    const std::string name = half ? "f16" : "stochastic";
    const Finished expected = train(c, 1, folder_, name + "_expected");
    if (half) {
      const auto overflows = std::count_if(expected.grad_norms.begin(), expected.grad_norms.end(),
                                           [](double norm) { return !std::isfinite(norm); });
      EXPECT_GT(overflows, 0);
      EXPECT_LT(overflows, 12);
    }
    c.parallel.zero = true;
    train(c, 2, folder_, name);
    forget_after_step_8(name);
    c.parallel.pipeline = 2;
    const Finished found = train(c, 2, folder_, name);
    EXPECT_EQ(found.losses, std::vector<double>(expected.losses.begin() + 8, expected.losses.end()))
        << name;
    EXPECT_EQ(first_difference(found.state, expected.state), "") << name;
  }
}

// One that other precisions do not have is 1, which would lose small gradients.
TEST(StoredLossScale, IsThatOfARunThatSoughtOne) {
  RunState stored{.loss_scale = 1024, .good_steps = 5};
  const auto after = [&](const char* precision, const char* fixed) {
    stored.config = {{"train.precision", precision}, {"train.loss_scale", fixed}};
    LossScale scale({}, DType::f16);
    restore(scale, stored);
    return std::pair(scale.value(), scale.good_steps());
  };
  const std::pair<double, int64_t> anew{LossScale::kFirst, 0};
  EXPECT_EQ(after("f16", "0"), (std::pair<double, int64_t>{1024, 5}));
  EXPECT_EQ(after("f32", "0"), anew);
  EXPECT_EQ(after("f16", "512"), anew);
}

// As when a run moves to another device, where train.precision=auto means another type.
TEST_F(Resume, InAnotherPrecisionGoesOnAndSaysSo) {
  const auto alone = single_rank();
  const auto stored = [&] {
    const auto info = checkpoint::find_checkpoint(folder_.file("run"), *alone);
    return run_state(info->metadata, info->path).config.at("train.precision");
  };
  PretrainConfig c = config();
  c.train.steps = 8;
  train(c, 1, folder_, "run");
  EXPECT_EQ(stored(), "f32");
  std::string before = "f32";
  for (const auto& [precision, name] :
       {std::pair<Precision, std::string>{DType::bf16, "bf16"}, {DType::f16, "f16"}, {{}, "f32"}}) {
    c.train.steps += 2;
    c.train.precision = precision;
    testing::internal::CaptureStderr();
    const Finished found = train(c, 1, folder_, "run");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(fmt::format("train.precision: {} -> {}", before, name)), std::string::npos)
        << said;
    EXPECT_NE(said.find(fmt::format("parameters, {} by", name)), std::string::npos) << said;
    EXPECT_EQ(found.losses.size(), 2u);
    EXPECT_EQ(stored(), name);
    before = name;
  }
}

TEST_F(Resume, BetweenTensorLayoutsKeepsEveryElement) {
  PretrainConfig c = config();
  c.train.steps = 8;
  c.model.vocab_size = 67;
  const Finished before = train(c, 1, folder_, "run");
  for (int tensor : {2, 4, 1}) {
    c.parallel.tensor = tensor;
    c.parallel.sequence = tensor > 1;
    // Nothing is left to do, so what is loaded is what is saved under a new run folder.
    c.checkpoint.load = folder_.file("run");
    const Finished after = train(c, tensor, folder_, fmt::format("tensor{}", tensor));
    EXPECT_EQ(first_difference(before.state, after.state), "") << tensor;
  }
}

TEST_F(Resume, TakesTheGroupsOfTheSumFromTheCheckpoint) {
  PretrainConfig c = config();
  const Finished expected = train(c, 1, folder_, "expected");
  forget_after_step_8("expected");
  c.parallel.reduction_groups = 0;
  EXPECT_EQ(first_difference(train(c, 2, folder_, "expected").state, expected.state), "");
}

// A micro-batch that fitted the groups of this layout may not fit those that the run began with.
TEST_F(Resume, AMicroBatchThatNobodyGaveFitsTheGroupsOfTheCheckpoint) {
  PretrainConfig c = config();
  c.parallel.reduction_groups = static_cast<int>(c.train.global_batch);
  c.train.micro_batch = 1;
  train(c, 1, folder_, "run");
  forget_after_step_8("run");
  c.parallel.reduction_groups = 0;
  c.train.micro_batch = 3;
  EXPECT_NE(error_of(c, 1, "run", ExitCode::usage)
                .find("train.micro_batch=3 must divide the 1 sequences"),
            std::string::npos);
  c.train.micro_batch_open = true;
  EXPECT_NO_THROW(train(c, 1, folder_, "run"));
}

TEST_F(Resume, StopFileCommitsAndIsRemoved) {
  PretrainConfig c = config();
  const Finished expected = train(c, 1, folder_, "expected");
  c.run.dir = folder_.file("run");
  std::filesystem::create_directories(c.run.dir);
  std::ofstream(c.run.dir + "/stop") << "";
  bool stopped = false;
  int64_t step = 0;
  run_ranks(2, [&](Group& world) {
    const TrainResult result = pretrain(c, world);
    if (world.rank() == 0) {
      stopped = result.stopped;
      step = result.step;
    }
  });
  EXPECT_TRUE(stopped);
  EXPECT_EQ(step, 1);
  EXPECT_FALSE(std::filesystem::exists(c.run.dir + "/stop"));
  EXPECT_EQ(first_difference(train(c, 1, folder_, "run").state, expected.state), "");
}

TEST_F(Resume, SignalsCommitAndStop) {
  for (int number : {SIGUSR2, SIGTERM, SIGINT, SIGUSR1}) {
    PretrainConfig c = config();
    c.run.dir = folder_.file(fmt::format("signal{}", number));
    c.train.steps = 1'000'000;
    std::thread later([number, &c] {
      // A signal before the first step commits nothing.
      while (!std::filesystem::exists(c.run.dir + "/metrics.jsonl"))
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      raise(number);
    });
    const auto alone = single_rank();
    // The handler must be in place when the signal comes.
    const StopRequest early("");
    const TrainResult result = pretrain(c, *alone);
    later.join();
    EXPECT_TRUE(result.stopped);
    EXPECT_GT(result.step, 0);
    EXPECT_EQ(checkpoint::find_checkpoint(c.run.dir, *alone)->step, result.step);
    // Whatever comes once it is agreed has no effect.
    for (int late : {SIGUSR2, SIGTERM, SIGINT, SIGHUP, SIGUSR1}) raise(late);
  }
}

TEST_F(Resume, FallsBackFromADamagedCheckpoint) {
  const Finished expected = train(config(), 1, folder_, "run");
  const std::string newest =
      folder_.file("run") + "/checkpoints/step-00000020.g000001/rank-00000.h5";
  ASSERT_TRUE(std::filesystem::exists(newest));
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) / 2);
  const Finished found = train(config(), 1, folder_, "run");
  EXPECT_EQ(found.losses.size(), 4u);  // from step 16
  EXPECT_EQ(first_difference(found.state, expected.state), "");
}

TEST_F(Resume, KnowsWhatWasBestAsIfItHadNeverEnded) {
  PretrainConfig c = config();
  c.data.validation = c.data.train;
  c.validation.every = 4;
  c.validation.patience = 100;
  c.lr.warmup = 2;
  c.lr.decay_end = 16;
  c.train.steps = 16;
  train(c, 1, folder_, "whole");
  c.train.steps = 8;
  train(c, 1, folder_, "parts");
  c.train.steps = 16;
  train(c, 1, folder_, "parts");
  const RunState whole = newest_state(folder_.file("whole")),
                 parts = newest_state(folder_.file("parts"));
  EXPECT_EQ(parts.best_step, whole.best_step);
  EXPECT_EQ(parts.best_quality, whole.best_quality);
  EXPECT_EQ(parts.fruitless, whole.fruitless);
  EXPECT_EQ(newest_state(folder_.file("parts") + "/best").step, whole.best_step);
  // Another run's counts are not this one's, nor those of starts that kept no best weights.
  c.checkpoint.load = folder_.file("whole");
  c.train.steps = 17;
  train(c, 1, folder_, "other");
  EXPECT_EQ(newest_state(folder_.file("other")).best_step, 17);
  c.checkpoint.load = "";
  c.validation.patience = 0;
  train(c, 1, folder_, "plain");
  EXPECT_EQ(newest_state(folder_.file("plain")).best_step, -1);
}

TEST_F(Resume, MetricsHoldEachStepOnce) {
  PretrainConfig c = config();
  c.data.validation = c.data.train;
  c.validation.every = 8;
  c.run.tensorboard = true;
  train(c, 1, folder_, "run");
  const std::string before = text_of("run/metrics.jsonl");
  forget_after_step_8("run");
  train(c, 1, folder_, "run");
  std::map<std::string, int> lines;
  std::istringstream text(text_of("run/metrics.jsonl"));
  for (std::string line; std::getline(text, line);)
    ++lines[line.substr(0, line.find(",\"", 10) + 10)];
  EXPECT_EQ(lines.size(), 20u + 2u + 1u);
  for (const auto& [line, count] : lines) EXPECT_EQ(count, 1) << line;
  for (const char* key : {"\"loss\":", "\"grad_norm\":", "\"lr\":", "\"tokens_per_second\":",
                          "\"model_flops_per_second\":", "\"validation_bits_per_byte\":"})
    EXPECT_NE(before.find(key), std::string::npos) << key;
  EXPECT_FALSE(std::filesystem::is_empty(folder_.file("run/tensorboard")));
}

TEST_F(Resume, RefusesAnotherModelWithBothValues) {
  train(config(), 1, folder_, "run");
  PretrainConfig c = config();
  c.model.d_model = 64;
  const std::string text = error_of(c, 1, "run", ExitCode::usage);
  EXPECT_NE(text.find("model.d_model: 32 -> 64"), std::string::npos) << text;
}

TEST_F(Resume, WeightsOnlyBeginsAnew) {
  train(config(), 1, folder_, "first");
  PretrainConfig c = config();
  c.checkpoint.load = folder_.file("first");
  c.checkpoint.weights_only = true;
  const Finished second = train(c, 2, folder_, "second");
  EXPECT_EQ(second.losses.size(), 20u);
}

TEST_F(Resume, UnwritableFolderIsRefusedBeforeTraining) {
  std::ofstream(folder_.file("file")) << "";
  PretrainConfig c = config();
  const std::string text = error_of(c, 2, "file/run", ExitCode::usage);
  EXPECT_NE(text.find("run.dir="), std::string::npos) << text;
}

TEST_F(Resume, GivesUpAfterThreeStepsWithoutAFiniteGradient) {
  PretrainConfig c = config();
  c.lr.lr = c.lr.min_lr = 1e30;
  c.lr.warmup = 0;
  c.checkpoint.every = 0;
  const std::string text = error_of(c, 2, "run", ExitCode::failure);
  EXPECT_NE(text.find("3 steps in a row"), std::string::npos) << text;
  EXPECT_NE(text.find("the run has no checkpoint yet: begin again with a lower lr.lr"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("-nan"), std::string::npos) << text;
  c.checkpoint.every = 1;
  const std::string saved = error_of(c, 2, "saved", ExitCode::failure);
  EXPECT_NE(saved.find("no gradient was finite since the checkpoint of step 1: remove"),
            std::string::npos)
      << saved;
  EXPECT_NE(saved.find("step-00000001.g000001 and begin again with a lower lr.lr"),
            std::string::npos)
      << saved;
}

}  // namespace
}  // namespace skein::train
