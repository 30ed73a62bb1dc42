// The promise of equal bits: the losses of a run do not depend on its data × pipeline layout.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "skein/comm/local.h"
#include "skein/train/trainer.h"

namespace skein {
namespace {

class Layouts : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("skein_layouts_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    TokenStoreWriter writer((folder_ / "t.h5").string(), 64, -1, R"({"type":"bytes","version":1})");
    std::mt19937 random(7);
    std::vector<int32_t> tokens(4000);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>((random() % 3 + i) % 64);
    writer.add_document(tokens, 4000);
    writer.finish();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  PretrainConfig config() const {
    PretrainConfig c;
    c.model.context = 16;
    c.model.d_model = 32;
    c.model.n_layers = 4;
    c.model.n_heads = 4;
    c.model.dropout = 0.1;
    c.train.steps = 20;
    c.train.global_batch = 16;
    c.train.log_every = 1000;
    c.parallel.reduction_groups = 4;
    c.data.train = {(folder_ / "t.h5").string()};
    return c;
  }

  std::vector<double> losses(const PretrainConfig& c, int ranks) const {
    std::vector<double> result;
    run_ranks(ranks, [&](Group& world) {
      const TrainResult own = pretrain(c, world);
      if (world.rank() == 0) result = own.losses;
    });
    return result;
  }

  std::filesystem::path folder_;
};

TEST_F(Layouts, LossFalls) {
  const auto all = losses(config(), 1);
  EXPECT_LT(all.back(), all.front() - 0.05);
}

TEST_F(Layouts, DataAndPipelineGiveEqualBits) {
  const auto expected = losses(config(), 1);
  for (int data : {1, 2, 4})
    for (int pipeline : {1, 2, 4})
      for (bool zero : {false, true}) {
        PretrainConfig c = config();
        c.parallel.data = data;
        c.parallel.pipeline = pipeline;
        c.parallel.zero = zero;
        c.train.micro_batch = data == 2 ? 2 : 1;
        c.parallel.recompute = pipeline == 2 ? Recompute::full : pipeline == 4 ? Recompute::selective : Recompute::none;
        EXPECT_EQ(losses(c, data * pipeline), expected) << "data " << data << " pipeline " << pipeline << " zero " << zero;
      }
}

TEST_F(Layouts, InterleavedAndGpipeGiveEqualBits) {
  const auto expected = losses(config(), 1);
  PretrainConfig c = config();
  c.parallel.pipeline = 2;
  c.parallel.chunks = 2;
  c.parallel.schedule = ScheduleKind::interleaved;
  EXPECT_EQ(losses(c, 2), expected);
  c.parallel.chunks = 1;
  c.parallel.schedule = ScheduleKind::gpipe;
  EXPECT_EQ(losses(c, 4), expected);
}

TEST_F(Layouts, TensorParallelAgrees) {
  const auto expected = losses(config(), 1);
  for (int tensor : {2, 4})
    for (bool sequence : {false, true}) {
      PretrainConfig c = config();
      c.parallel.tensor = tensor;
      c.parallel.sequence = sequence;
      const auto found = losses(c, tensor);
      for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i] / expected[i], 1.0, 1e-5) << tensor << sequence << i;
    }
}

TEST_F(Layouts, WhatDoesNotFitIsSaidWithBothNumbers) {
  PretrainConfig c = config();
  c.train.micro_batch = 3;
  try {
    losses(c, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("train.micro_batch=3"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace skein
