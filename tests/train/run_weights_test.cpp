// Which weights of a run others take.
#include "skein/train/run_weights.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "skein/train/run_state.h"

#include "train/train_fixture.h"

namespace skein::train {
namespace {

class RunWeights : public testing::Test {
 protected:
  RunWeights() : c_(small_config(folder_.file("train.h5"))) {
    write_small_store(folder_.file("train.h5"));
    c_.data.validation = c_.data.train;
    c_.validation.every = 2;
    c_.validation.patience = 100;
    c_.lr.lr = c_.lr.min_lr = 3e-3;
    c_.lr.warmup = 1;
    c_.checkpoint.every = 4;
    c_.checkpoint.keep = 10;
    c_.train.steps = 10;
  }
  void run() { train(c_, 1, folder_, "run"); }
  // What is newest is not what is best then.
  void get_worse() {
    c_.lr.lr = c_.lr.min_lr = 1;
    c_.train.steps = 14;
    run();
  }
  checkpoint::CheckpointInfo found(const std::string& path) const {
    return *find_weights(path, *single_rank());
  }
  std::string run_folder() const { return folder_.file("run"); }
  void remove_from(int64_t step) const {
    for (const checkpoint::CheckpointInfo& info : checkpoint::list_checkpoints(run_folder()))
      if (info.step >= step) std::filesystem::remove_all(info.path);
  }

  test::Scratch folder_;
  PretrainConfig c_;
};

TEST_F(RunWeights, AreTheBestWhereTheRunHasKeptThem) {
  run();
  get_worse();
  const checkpoint::CheckpointInfo best =
      checkpoint::list_checkpoints(run_folder() + "/best").front();
  ASSERT_LT(best.step, 14) << "the newest weights are no better";
  EXPECT_EQ(found(run_folder()).path, best.path);
  EXPECT_EQ(found(run_folder() + "/").step, best.step);
  EXPECT_EQ(found(run_folder() + "/checkpoints").step, 14);
  const auto newest = checkpoint::list_checkpoints(run_folder()).front();
  EXPECT_EQ(found(newest.path).step, 14);
  EXPECT_FALSE(find_weights(folder_.file("none"), *single_rank()).has_value());
}

TEST_F(RunWeights, OfAnEarlierStartDoNotShadowNewerOnes) {
  run();
  c_.validation.patience = 0;
  c_.train.steps = 14;
  run();
  ASSERT_FALSE(checkpoint::list_checkpoints(run_folder() + "/best").empty());
  EXPECT_EQ(found(run_folder()).step, 14);
}

TEST_F(RunWeights, KeptSinceTheNewestCheckpointCount) {
  run();
  const int64_t best = checkpoint::list_checkpoints(run_folder() + "/best").front().step;
  ASSERT_GT(best, 4);
  remove_from(5);
  EXPECT_EQ(found(run_folder()).step, best);
  std::filesystem::remove_all(run_folder() + "/checkpoints");
  EXPECT_EQ(found(run_folder()).step, best);
  // The same folder, begun anew.
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  c_.validation.patience = 0;
  c_.train.steps = 2;
  run();
  EXPECT_EQ(found(run_folder()).step, 2);
}

TEST_F(RunWeights, RunsThatTakeWeightsAloneBeginWithThem) {
  run();
  get_worse();
  const checkpoint::CheckpointInfo best =
      checkpoint::list_checkpoints(run_folder() + "/best").front();
  const State stored = state_of(best.path);
  c_.checkpoint.load = run_folder();
  c_.checkpoint.weights_only = true;
  c_.lr.lr = c_.lr.min_lr = 1e-30;
  c_.train.steps = 1;
  const Finished next = train(c_, 1, folder_, "next");
  EXPECT_EQ(next.state.at("param/embedding.tokens.weight"),
            stored.at("param/embedding.tokens.weight"));
}

}  // namespace
}  // namespace skein::train
