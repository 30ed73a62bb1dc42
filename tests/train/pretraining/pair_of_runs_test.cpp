// Pairs of runs that are compared byte for byte.
#include "skein/train/pretraining/pair_of_runs.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
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
    const TrainResult first = runs.train("first"), second = runs.train_second("second", "first");
    for (int64_t step = 1; step <= 4; ++step)
      EXPECT_EQ(runs.compare(step, "first", "second"), Compared::equal);
    EXPECT_EQ(runs.compare(5, "first", "second"), Compared::neither);
    EXPECT_EQ(second.losses.size(), world.rank() == 0 ? 4u : 0u) << "one rank takes part";
    if (world.rank() == 0) {
      EXPECT_EQ(first.losses, second.losses);
    }
  });
  std::filesystem::remove_all(folder_.file("pair"));
  with(2, {.tensor = 2}, [](const PairOfRuns& runs, Group&) {
    runs.train("first");
    runs.train_second("second", "first");
    EXPECT_EQ(runs.compare(4, "first", "second"), Compared::different);
  });
}

TEST_F(PairsOfRuns, SumTheGroupsOfTheFirst) {
  config_.run.parallel.reduction_groups = 0;
  config_.run.train.global_batch = 6;
  config_.run.train.micro_batch = 1;
  config_.run.train.steps = 1;
  with(3, {.ranks = 1}, [](const PairOfRuns& runs, Group&) {
    runs.train("first");
    runs.train_second("second", "first");
    EXPECT_EQ(runs.compare(1, "first", "second"), Compared::equal);
  });
  std::filesystem::remove_all(folder_.file("pair"));
  with(3, {.ranks = 2}, [](const PairOfRuns& runs, Group&) {
    runs.train("first");
    test::expect_error(ExitCode::usage, {"the 3 reduction groups of", "2 data-parallel ranks"},
                       [&] { runs.train_second("second", "first"); });
  });
}

// Gradients overflow in f16 until the loss scale is found.
TEST_F(PairsOfRuns, MayLeaveStepsOut) {
  config_.run.train.precision = DType::f16;
  config_.run.model.init_std = 3;
  config_.run.model.n_layers = 1;
  config_.run.train.global_batch = 4;
  config_.run.train.micro_batch = 1;
  config_.run.train.steps = 3;
  with(1, {}, [pair = folder_.file("pair")](const PairOfRuns& runs, Group& world) {
    runs.train("first");
    runs.train_second("second", "first");
    EXPECT_EQ(runs.compare(2, "first", "second"), Compared::neither);
    EXPECT_EQ(runs.compare(3, "first", "second"), Compared::equal);
    std::filesystem::remove_all(checkpoint::find_checkpoint(pair + "/second", world)->path);
    EXPECT_EQ(runs.compare(3, "first", "second"), Compared::different) << "only one has it";
  });
}

TEST_F(PairsOfRuns, ARunStopsAndGoesOn) {
  with(2, {.pipeline = 2}, [](const PairOfRuns& runs, Group&) {
    runs.train("whole");
    const TrainResult part = runs.train("resumed", 3);
    EXPECT_TRUE(part.stopped);
    EXPECT_EQ(part.step, 3);
    EXPECT_EQ(runs.train_second("resumed", "whole").losses.size(), 1u);
    EXPECT_EQ(runs.compare(4, "whole", "resumed"), Compared::equal);
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
    return refusal_of([&] { with(2, other, [](const PairOfRuns&, Group&) {}); });
  };
  EXPECT_NE(error_of({.ranks = 3}).find("other.ranks=3 must be 0 to 2"), std::string::npos);
  EXPECT_NE(error_of({.chunks = -1}).find("other.chunks=-1"), std::string::npos);
  std::filesystem::create_directories(folder_.file("pair"));
  EXPECT_NE(error_of({}).find("is there already"), std::string::npos);
  config_.run.run.dir = "";
  EXPECT_NE(error_of({}).find("run.dir is empty"), std::string::npos);
}

}  // namespace
}  // namespace skein::train
