// Spikes of loss: found by the latest steps alone, and what a run makes of them; a resumed one
// makes the same.
#include "skein/train/watch/spikes.h"

#include <fstream>
#include <gtest/gtest.h>
#include <limits>

#include "skein/train/run_state.h"

#include "train/train_fixture.h"

namespace skein::train {
namespace {

using Action = SpikeConfig::Action;

SpikeConfig small_window() { return {.deviations = 6, .window = 16}; }

TEST(SpikeDetector, LooksAtTheLatestStepsOnly) {
  SpikeDetector detector(small_window());
  const auto usual = [](int64_t step) { return step % 2 ? 3.0 : 3.2; };
  for (int64_t step = 1; step <= 7; ++step) detector.judge(step, usual(step), 1);
  EXPECT_EQ(detector.limits().loss, std::numeric_limits<double>::infinity())
      << "half of a window is too little";
  EXPECT_FALSE(detector.judge(8, 1000, 1)) << "too early to say";
  for (int64_t step = 9; step <= 24; ++step) EXPECT_FALSE(detector.judge(step, usual(step), 1));
  EXPECT_NEAR(detector.limits().loss, 3.1 + 6 * 0.1, 1e-9) << "the early one is forgotten";
  EXPECT_FALSE(detector.judge(25, 3.7 - 1e-6, 1));
  const auto found = detector.judge(26, 8.31, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 26);
  EXPECT_EQ(found->str().find("the loss 8.31 is "), 0u) << found->str();
  EXPECT_NE(found->str().find(" deviations above 3.1"), std::string::npos) << found->str();
}

TEST(SpikeDetector, NormsCountAndWhatIsNotFiniteDoesNot) {
  SpikeDetector detector(small_window());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (int64_t step = 1; step <= 40; ++step) {
    EXPECT_FALSE(detector.judge(step, kInfinity, 1));
    EXPECT_FALSE(detector.judge(step, 1, std::nan("")));
    EXPECT_FALSE(detector.judge(step, 2, 1 + 0.1 * static_cast<double>(step % 2)));
  }
  EXPECT_FALSE(detector.judge(41, 1, 0.01)) << "a low one is no spike";
  const auto found = detector.judge(42, 2, 9);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->quantity, "gradient norm");
}

TEST(SpikeDetector, GoesOnWhereACheckpointLeftIt) {
  SpikeDetector whole(small_window()), resumed(small_window());
  std::mt19937 random(3);
  const auto number = [&] { return 1 + static_cast<double>(random() % 1000) / 1000; };
  for (int64_t step = 1; step <= 30; ++step) whole.judge(step, number(), number());
  SpikeRecord record;
  whole.keep(record);
  resumed.restore(record);
  for (int64_t step = 31; step <= 60; ++step) {
    EXPECT_EQ(resumed.limits().loss, whole.limits().loss);
    EXPECT_EQ(resumed.limits().grad_norm, whole.limits().grad_norm);
    const double loss = number(), norm = number();
    EXPECT_EQ(resumed.judge(step, loss, norm).has_value(),
              whole.judge(step, loss, norm).has_value());
  }
}

// Runs on a pattern that is learnt fast; the samples of some steps hold noise instead.
class Spikes : public testing::Test {
 protected:
  static constexpr int64_t kTokens = 16 * 16;  // of a step

  // Of the steps from first_bad on, every so manieth is bad.
  void write_store(const std::string& name, int64_t steps, int64_t first_bad, int64_t bad,
                   int64_t every = 1) const {
    data::TokenStoreWriter writer(folder_.file(name), 64, -1, R"({"type":"bytes","version":1})");
    std::mt19937 random(7);
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i <= steps * kTokens; ++i) {
      const int64_t step = i / kTokens;
      const bool noise = i % kTokens > 0 && step >= first_bad && step < first_bad + bad &&
                         (step - first_bad) % every == 0;
      tokens.push_back(static_cast<int32_t>(noise ? random() % 64 : i % 64));
    }
    writer.add_document(tokens, std::ssize(tokens));
    writer.finish();
  }
  PretrainConfig config(const std::string& store, Action action) const {
    PretrainConfig c = small_config(folder_.file(store));
    c.model.dropout = 0;
    c.model.n_layers = 2;
    c.data.shuffle = false;
    c.lr.lr = 1e-2;
    c.lr.decay = LrConfig::Decay::constant;
    c.train.steps = 60;
    c.checkpoint.every = 8;
    c.checkpoint.keep = 100;
    c.spikes = small_window();
    c.spikes.action = action;
    return c;
  }
  std::vector<Spike> decisions(const std::string& run) const {
    const auto alone = single_rank();
    const auto info = checkpoint::find_checkpoint(folder_.file(run), *alone);
    return run_state(info->metadata, info->path).spikes.decisions;
  }
  std::vector<int64_t> steps_in_metrics(const std::string& run) const {
    std::ifstream file(folder_.file(run) + "/metrics.jsonl");
    std::vector<int64_t> steps;
    for (std::string line; std::getline(file, line);)
      steps.push_back(std::stoll(line.substr(line.find(':') + 1)));
    return steps;
  }

  test::Scratch folder_;
};

TEST_F(Spikes, AreWarnedOfAndKept) {
  write_store("bad.h5", 60, 40, 1);
  train(config("bad.h5", Action::warn), 1, folder_, "run");
  const auto found = decisions("run");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].step, 41);
  EXPECT_EQ(found[0].action, "warned");
  EXPECT_GT(found[0].value, found[0].mean + 6 * found[0].deviation);
}

TEST_F(Spikes, AStepThatIsSkippedChangesNothing) {
  write_store("bad.h5", 60, 40, 1);
  for (const int ranks : {1, 2}) {
    const auto name = [ranks](int64_t steps) { return fmt::format("{}_{}", ranks, steps); };
    const auto state_after = [&](int64_t steps) {
      PretrainConfig c = config("bad.h5", Action::skip);
      c.checkpoint.every = 0;
      c.run.stop_at = steps;
      return train(c, ranks, folder_, name(steps)).state;
    };
    const State before = state_after(40);
    EXPECT_EQ(first_difference(before, state_after(41)), "");
    EXPECT_NE(first_difference(before, state_after(42)), "");
    const auto found = decisions(name(41));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].action, "skipped");
  }
}

TEST_F(Spikes, ARollbackLeavesTheDataOut) {
  write_store("bad.h5", 61, 40, 1);
  write_store("good.h5", 60, 0, 0);
  const Finished expected = train(config("good.h5", Action::none), 1, folder_, "expected");
  for (const int ranks : {1, 2, 4}) {
    const std::string name = "run" + std::to_string(ranks);
    const Finished found = train(config("bad.h5", Action::rollback), ranks, folder_, name);
    EXPECT_EQ(first_difference(found.state, expected.state), "") << ranks;
    std::vector<int64_t> steps(60);
    for (int64_t i = 0; i < 60; ++i) steps[static_cast<size_t>(i)] = i + 1;
    EXPECT_EQ(steps_in_metrics(name), steps);
    ASSERT_EQ(decisions(name).size(), 1u);
    EXPECT_EQ(decisions(name)[0].action, "rolled back");
  }
}

// Step 44 is made twice: before the spike at step 46, and once more after it.
TEST_F(Spikes, TheBestWeightsAreThoseOfTheStepsThatStay) {
  write_store("bad.h5", 61, 45, 1);
  PretrainConfig c = config("bad.h5", Action::rollback);
  c.model.dropout = 0.1;
  c.data.validation = {folder_.file("bad.h5")};
  c.validation.every = 44;
  c.validation.patience = 9;
  const auto best_after = [&](int64_t stop, const std::string& run) {
    c.run.stop_at = stop;
    const RunState state = (train(c, 1, folder_, run), newest_state(folder_.file(run)));
    EXPECT_EQ(state.best_step, 44);
    const auto kept = checkpoint::list_checkpoints(folder_.file(run) + "/best");
    EXPECT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept.at(0).step, 44);
    return state_of(folder_.file(run) + "/best");
  };
  const State left_behind = best_after(45, "before"), kept = best_after(47, "after");
  EXPECT_EQ(decisions("after").size(), 1u);
  EXPECT_NE(first_difference(kept, left_behind), "");
}

// From before the spike, and from behind the rollback.
TEST_F(Spikes, AResumedRunDecidesTheSame) {
  write_store("bad.h5", 64, 42, 1);
  PretrainConfig c = config("bad.h5", Action::rollback);
  c.spikes.leave_out = 2;
  const Finished expected = train(c, 1, folder_, "expected");
  for (const int64_t stop : {30, 41, 44, 50}) {
    const std::string name = "run" + std::to_string(stop);
    PretrainConfig first = c;
    first.run.stop_at = stop;
    train(first, 2, folder_, name);
    // What stops commits there; a kill would not have.
    for (const auto& entry :
         std::filesystem::directory_iterator(folder_.file(name) + "/checkpoints"))
      if (entry.path().filename().string().starts_with(fmt::format("step-{:08}", stop)))
        std::filesystem::remove_all(entry.path());
    EXPECT_EQ(first_difference(train(c, 1, folder_, name).state, expected.state), "") << stop;
  }
}

// A commit that a stop has added is not gone back to, though no other one is to be kept.
TEST_F(Spikes, AStopChangesNoDecision) {
  write_store("bad.h5", 64, 42, 1);
  PretrainConfig c = config("bad.h5", Action::rollback);
  c.checkpoint.keep = 1;
  const Finished expected = train(c, 1, folder_, "expected");
  PretrainConfig first = c;
  first.run.stop_at = 41;
  train(first, 1, folder_, "run");
  first.run.stop_at = 42;
  train(first, 2, folder_, "run");
  const auto steps = [&] {
    std::vector<int64_t> made;
    for (const auto& info : checkpoint::list_checkpoints(folder_.file("run")))
      made.push_back(info.step);
    return made;
  };
  EXPECT_EQ(steps(), (std::vector<int64_t>{42, 41, 40})) << "41 as the last one known to be good";
  // Behind the rollback from step 43.
  first.run.stop_at = 41;
  train(first, 1, folder_, "run");
  EXPECT_EQ(steps(), (std::vector<int64_t>{41, 40}));
  EXPECT_EQ(decisions("run").size(), 1u);
  EXPECT_EQ(first_difference(train(c, 1, folder_, "run").state, expected.state), "");
  EXPECT_EQ(steps_in_metrics("run").size(), 60u);
}

TEST_F(Spikes, ARunThatFindsNoWayAroundThemEnds) {
  write_store("bad.h5", 80, 42, 30);
  const std::string error =
      training_error(config("bad.h5", Action::rollback), 2, folder_, "run", ExitCode::failure);
  EXPECT_NE(error.find("also after 3 ways around"), std::string::npos) << error;
}

// Spikes at steps 43, 42, 42 and 42, each after one more way around.
TEST_F(Spikes, AStopForgetsNoWayAroundThem) {
  write_store("bad.h5", 80, 42, 30, 2);
  PretrainConfig c = config("bad.h5", Action::rollback);
  const auto end = [&](const std::string& run) {
    return training_error(c, 1, folder_, run, ExitCode::failure);
  };
  const std::string expected = end("expected");
  EXPECT_NE(expected.find("also after 3 ways around"), std::string::npos) << expected;
  c.run.stop_at = 42;
  train(c, 1, folder_, "run");
  for (const size_t ways : {1, 2, 3}) {
    c.run.stop_at = 41;
    train(c, 1, folder_, "run");
    EXPECT_EQ(decisions("run").size(), ways);
  }
  c.run.stop_at = 0;
  EXPECT_EQ(end("run"), expected);
}

TEST_F(Spikes, WhatCannotBeIsRefused) {
  write_store("good.h5", 60, 0, 0);
  PretrainConfig c = config("good.h5", Action::warn);
  c.spikes.deviations = 0;
  EXPECT_NE(training_error(c, 1, folder_, "run", ExitCode::usage).find("spikes.deviations=0"),
            std::string::npos);
  c.spikes = {.leave_out = 100000000000000000};
  EXPECT_NE(training_error(c, 1, folder_, "run", ExitCode::usage)
                .find("train.steps=60 and spikes.leave_out=100000000000000000, of "
                      "train.global_batch=16 sequences of 16 tokens, are 2.56e+19 tokens"),
            std::string::npos);
  c = config("good.h5", Action::rollback);
  EXPECT_NE(refusal_of([&] { check_start(c, 1); }).find("run.dir=, checkpoint.every=8"),
            std::string::npos);
  c.checkpoint.every = 0;
  EXPECT_NE(training_error(c, 1, folder_, "run", ExitCode::usage)
                .find("checkpoint.every=0, checkpoint.minutes=0 and "
                      "checkpoint.mean_time_between_failures=0; give run.dir"),
            std::string::npos);
  c.checkpoint.minutes = 1;
  c.run.dir = "run";
  EXPECT_EQ(refusal_of([&] { check_start(c, 1); }), "");
  c.spikes = {.window = 1};
  EXPECT_NE(training_error(c, 1, folder_, "run", ExitCode::usage).find("spikes.window=1"),
            std::string::npos);
}

}  // namespace
}  // namespace skein::train
