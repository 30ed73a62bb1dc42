// Encoders learn, and keep the promise of equal bits as decoders do.
#include <gtest/gtest.h>

#include "train/layout_check.h"

namespace skein::train {
namespace {

class Encoders : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<test::Scratch>();
    test::write_sentence_store(folder_->file("train.h5"));
    expected_ = train(config(), 1, *folder_, "expected");
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static PretrainConfig config() { return encoder_config(folder_->file("train.h5")); }

  static void expect_equal(const PretrainConfig& c, int ranks,
                           const Finished& expected = expected_) {
    expect_equal_run(c, ranks, *folder_, expected);
  }

  static inline std::unique_ptr<test::Scratch> folder_;
  static inline Finished expected_;
};

TEST_F(Encoders, LearnAndKeepAllTheirTensors) {
  EXPECT_LT(expected_.losses.back(), expected_.losses.front() - 0.3);
  EXPECT_EQ(expected_.losses.size(), 20u);
  for (const char* name :
       {"embedding.types.weight", "embedding.norm.gain", "pooler.weight", "head.dense.weight",
        "head.norm.bias", "head.bias", "pair.weight", "pair.bias"})
    EXPECT_TRUE(expected_.state.contains(std::string("adam_v/") + name)) << name;
  EXPECT_FALSE(expected_.state.contains("param/head.weight"));
  EXPECT_GT(expected_.validation.at("pair_loss"), 0);
}

TEST_F(Encoders, GiveEqualBitsAtAnyDataAndPipelineSize) {
  for (const auto& [data, pipeline, zero] :
       {std::tuple{2, 1, false}, {1, 2, false}, {4, 1, true}, {2, 2, true}, {1, 4, false}}) {
    PretrainConfig c = config();
    c.parallel.data = data;
    c.parallel.pipeline = pipeline;
    c.parallel.zero = zero;
    c.train.micro_batch = data == 2 ? 2 : pipeline == 2 ? 8 : 1;
    c.parallel.recompute = pipeline == 2   ? Recompute::full
                           : pipeline == 4 ? Recompute::selective
                                           : Recompute::none;
    expect_equal(c, data * pipeline);
  }
}

TEST_F(Encoders, GiveEqualBitsInterleaved) {
  PretrainConfig c = config();
  c.parallel.data = 2;
  c.parallel.pipeline = 2;
  c.parallel.chunks = 2;
  c.parallel.schedule = ScheduleKind::interleaved;
  expect_equal(c, 4);
}

TEST_F(Encoders, GiveEqualBitsInBf16OfRunningText) {
  PretrainConfig c = config();
  c.train.precision = DType::bf16;
  c.mlm.pairs = data::PairTask::none;
  c.mlm.unit = data::MaskUnit::word;
  c.data.cross_document_attention = false;
  const Finished expected = train(c, 1, *folder_, "bf16");
  EXPECT_LT(expected.losses.back(), expected.losses.front() - 0.3);
  c.parallel.pipeline = 2;
  c.parallel.zero = true;
  c.train.micro_batch = 4;
  expect_equal(c, 4, expected);
}

TEST_F(Encoders, AgreeOverTensorParallelRanks) {
  for (int tensor : {2, 4})
    for (bool sequence : {false, true}) {
      PretrainConfig c = config();
      c.parallel.tensor = tensor;
      c.parallel.sequence = sequence;
      c.parallel.pipeline = sequence ? 2 : 1;
      const Finished found = train(c, tensor * c.parallel.pipeline, *folder_,
                                   fmt::format("tensor{}{}", tensor, sequence));
      for (size_t i = 0; i < found.losses.size(); ++i) {
        EXPECT_NEAR(found.losses[i] / expected_.losses[i], 1, 1e-5)
            << tensor << sequence << " step " << i;
        EXPECT_NEAR(found.grad_norms[i] / expected_.grad_norms[i], 1, 1e-4)
            << tensor << sequence << " step " << i;
      }
      for (const auto& [name, value] : expected_.validation)
        EXPECT_NEAR(found.validation.at(name), value, 1e-4) << name;
    }
}

TEST_F(Encoders, ResumeToTheSameBitsAtAnotherLayout) {
  PretrainConfig c = config();
  c.train.steps = 8;
  c.lr.decay_end = 20;
  train(c, 1, *folder_, "resumed");
  c.train.steps = 20;
  c.parallel.pipeline = 2;
  const Finished found = train(c, 4, *folder_, "resumed");
  EXPECT_EQ(first_difference(found.state, expected_.state), "");
}

}  // namespace
}  // namespace skein::train
