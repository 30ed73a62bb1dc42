// Attention by structure: equal bits at every layout, and what a checkpoint says of it.
#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"
#include "skein/tensor/cuda.h"
#include "skein/train/trained_model.h"

#include "train/layout_check.h"

namespace skein::train {
namespace {

class Structures : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<test::Scratch>();
    write_small_store(folder_->file("train.h5"), 60);
    test::write_sentence_store(folder_->file("encoder.h5"));
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static PretrainConfig config(const std::string& kind) {
    PretrainConfig c = small_config(folder_->file("train.h5"));
    c.data.validation = c.data.train;
    c.validation.every = 0;
    c.validation.eval.windows = 20;
    c.train.steps = 4;
    AttentionOptions& attention = c.model.attention;
    attention.kinds = {kind};
    if (kind == "window" || kind == "global" || kind == "lsh") attention.windows = {4};
    if (kind == "global") attention.other.marks.every = 5;
    if (kind == "bigbird" || kind == "fixed") attention.other.block = 2;
    if (kind == "bigbird") attention.other.random = 1;
    if (kind == "fixed") attention.other.stretch = 2;
    return c;
  }

  static inline std::unique_ptr<test::Scratch> folder_;
};

TEST_F(Structures, GiveEqualBitsAtEveryLayout) {
  const Finished full = train(config("full"), 1, *folder_, "full");
  for (const std::string kind : {"window", "global", "bigbird", "fixed", "lsh"}) {
    SCOPED_TRACE(kind);
    PretrainConfig c = config(kind);
    c.model.attention_dropout = 0.1;
    c.data.cross_document_attention = kind == "bigbird";
    const Finished expected = train(c, 1, *folder_, kind);
    EXPECT_NE(expected.losses, full.losses);
    c.train.micro_batch = 4;
    c.parallel.recompute = Recompute::selective;
    expect_equal_run(c, 1, *folder_, expected);
    c.train.micro_batch = 2;
    c.parallel.data = c.parallel.pipeline = 2;
    c.parallel.recompute = Recompute::full;
    c.parallel.zero = true;
    expect_equal_run(c, 4, *folder_, expected);
  }
}

// Marks are of another number in each sample.
TEST_F(Structures, GiveEqualBitsInEncodersToo) {
  for (const std::string kind : {"global", "bigbird", "lsh"}) {
    SCOPED_TRACE(kind);
    PretrainConfig c = encoder_config(folder_->file("encoder.h5"));
    c.train.steps = 4;
    c.model.attention = config(kind).model.attention;
    c.model.attention.other.block = kind == "bigbird" ? 1 : 64;
    if (kind == "global") c.model.attention.other.marks = {.first = 1, .token = 17};
    const Finished expected = train(c, 1, *folder_, "encoder-" + kind);
    c.train.micro_batch = 1;
    expect_equal_run(c, 1, *folder_, expected);
    c.parallel.data = c.parallel.pipeline = 2;
    c.parallel.recompute = Recompute::selective;
    c.parallel.zero = true;
    expect_equal_run(c, 4, *folder_, expected);
  }
}

TEST_F(Structures, AreDividedByTensorParallelRanks) {
  for (const std::string kind : {"global", "bigbird", "lsh"}) {
    PretrainConfig c = config(kind);
    const Finished expected = train(c, 1, *folder_, kind + "1");
    c.parallel.tensor = 2;
    for (const bool sequence : {false, true}) {
      c.parallel.sequence = sequence;
      const Finished found = train(c, 2, *folder_, fmt::format("{}{}", kind, sequence));
      ASSERT_EQ(found.losses.size(), expected.losses.size());
      for (size_t i = 0; i < found.losses.size(); ++i)
        EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-5 * expected.losses[i]) << kind;
    }
  }
}

TEST_F(Structures, AreRememberedByTheModel) {
  const PretrainConfig c = config("global");
  train(c, 1, *folder_, "remembered");
  const auto alone = single_rank();
  EXPECT_EQ(open_trained_model(folder_->file("remembered"), 0, *alone).model.attention,
            c.model.attention);
  PretrainConfig other = c;
  other.model.attention.windows = {6};
  EXPECT_NE(training_error(other, 1, *folder_, "remembered", ExitCode::usage)
                .find("attention.window: 4 -> 6"),
            std::string::npos);
}

using OnGpuStructures = Structures;

TEST_F(OnGpuStructures, FollowTheCpu) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
  for (const std::string kind : {"window", "global", "bigbird", "fixed", "lsh"}) {
    SCOPED_TRACE(kind);
    PretrainConfig c = config(kind);
    c.data.validation.clear();
    c.train.precision = DType::f32;
    c.train.steps = 3;
    c.train.global_batch = 4;
    const Finished expected = train(c, 1, *folder_, "cpu-" + kind);
    c.parallel.device = DeviceKind::cuda;
    const Finished found = train(c, 1, *folder_, "gpu-" + kind),
                   again = train(c, 1, *folder_, "again-" + kind);
    ASSERT_EQ(found.losses.size(), expected.losses.size());
    for (size_t i = 0; i < found.losses.size(); ++i) {
      EXPECT_NEAR(found.losses[i], expected.losses[i], 2e-5) << "step " << i;
      EXPECT_NEAR(found.grad_norms[i], expected.grad_norms[i], 2e-4) << "step " << i;
    }
    EXPECT_EQ(again.losses, found.losses);
    EXPECT_EQ(first_difference(again.state, found.state), "");
  }
}

}  // namespace
}  // namespace skein::train
