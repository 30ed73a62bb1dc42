// Pairs of runs that are compared byte for byte.
#include "skein/train/pretraining/pair_of_runs.h"

#include <gtest/gtest.h>

#include "train/train_fixture.h"

namespace skein::train {
namespace {

class PairsOfRuns : public testing::Test {
 protected:
  PairsOfRuns() : options_("test", "") {
    write_small_store(folder_.file("train.h5"));
    config_.run = small_config(folder_.file("train.h5"));
    config_.run.train.steps = 4;
    config_.run.checkpoint.every = 1;
    config_.run.checkpoint.keep = 10;
    config_.run.run.dir = folder_.file("pair");
    bind(options_, config_);
  }
  void with(int ranks, const OtherLayout& other,
            const std::function<void(const PairOfRuns&, Group&)>& work) {
    run_ranks(ranks, [&](Group& world) {
      Options own("test", "");
      PretrainTaskConfig config = config_;
      bind(own, config);
      work(PairOfRuns(own, config, other, world), world);
    });
  }

  test::Scratch folder_;
  PretrainTaskConfig config_;
  Options options_;
};

TEST_F(PairsOfRuns, EqualLayoutsAreEqualAndOthersAreNot) {
  with(2, {.ranks = 1}, [](const PairOfRuns& runs, Group& world) {
    const TrainResult first = runs.train("first", false), second = runs.train("second", true);
    for (int64_t step = 1; step <= 4; ++step) EXPECT_TRUE(runs.equal(step, "first", "second"));
    EXPECT_EQ(second.losses.size(), world.rank() == 0 ? 4u : 0u) << "one rank takes part";
    if (world.rank() == 0) {
      EXPECT_EQ(first.losses, second.losses);
    }
  });
  std::filesystem::remove_all(folder_.file("pair"));
  with(2, {.tensor = 2}, [](const PairOfRuns& runs, Group&) {
    runs.train("first", false);
    runs.train("second", true);
    EXPECT_FALSE(runs.equal(4, "first", "second"));
    EXPECT_THROW((void)runs.equal(5, "first", "second"), Error) << "there is no such step";
  });
}

TEST_F(PairsOfRuns, ARunStopsAndGoesOn) {
  with(2, {.pipeline = 2}, [](const PairOfRuns& runs, Group&) {
    runs.train("whole", false);
    const TrainResult part = runs.train("resumed", false, 3);
    EXPECT_TRUE(part.stopped);
    EXPECT_EQ(part.step, 3);
    EXPECT_EQ(runs.train("resumed", true).losses.size(), 1u);
    EXPECT_TRUE(runs.equal(4, "whole", "resumed"));
  });
}

TEST(EndsAlike, ComparesTheStepsOfBoth) {
  TrainResult whole{.losses = {4, 3, 2, 1}, .grad_norms = {8, 7, 6, 5}};
  whole.begun = 10;
  TrainResult resumed{.losses = {2, 1}, .grad_norms = {6, 5}};
  resumed.begun = 12;
  EXPECT_TRUE(ends_alike(whole, resumed));
  resumed.grad_norms[0] = 7;
  EXPECT_FALSE(ends_alike(whole, resumed));
  // Resumed behind step 12, and rolled back to step 11.
  resumed = {.losses = {3, 2, 1}, .grad_norms = {7, 6, 5}};
  resumed.begun = 11;
  EXPECT_TRUE(ends_alike(whole, resumed));
  resumed.losses.pop_back();
  EXPECT_FALSE(ends_alike(whole, resumed));
}

TEST_F(PairsOfRuns, WhatCannotBeIsRefused) {
  const auto error_of = [&](const OtherLayout& other) -> std::string {
    try {
      with(2, other, [](const PairOfRuns&, Group&) {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return error.what();
    }
    return "";
  };
  EXPECT_NE(error_of({.ranks = 3}).find("other.ranks=3 must be 0 to 2"), std::string::npos);
  std::filesystem::create_directories(folder_.file("pair"));
  EXPECT_NE(error_of({}).find("is there already"), std::string::npos);
  config_.run.run.dir = "";
  EXPECT_NE(error_of({}).find("run.dir is empty"), std::string::npos);
}

}  // namespace
}  // namespace skein::train
