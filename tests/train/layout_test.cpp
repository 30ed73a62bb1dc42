// The promise of equal bits: neither losses nor parameters nor moments depend on the data x
// pipeline layout.
#include <gtest/gtest.h>

#include "skein/kernels/threads.h"

#include "train/layout_check.h"

namespace skein::train {
namespace {

class Layouts : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<test::Scratch>();
    write_small_store(folder_->file("train.h5"));
    expected_ = train(small_config(folder_->file("train.h5")), 1, *folder_, "expected");
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static PretrainConfig config() { return small_config(folder_->file("train.h5")); }

  static void expect_equal(const PretrainConfig& c, int ranks) {
    expect_equal_run(c, ranks, *folder_, expected_);
  }

  static inline std::unique_ptr<test::Scratch> folder_;
  static inline Finished expected_;
};

TEST_F(Layouts, LossFallsAndStateIsWhole) {
  EXPECT_LT(expected_.losses.back(), expected_.losses.front() - 0.05);
  EXPECT_EQ(expected_.losses.size(), 20u);
  EXPECT_TRUE(expected_.state.contains("param/embedding.tokens.weight"));
  EXPECT_TRUE(expected_.state.contains("adam_v/block.3.mlp.down.bias"));
  EXPECT_FALSE(expected_.state.contains("param/head.weight"));
}

class DataPipeline : public Layouts,
                     public testing::WithParamInterface<std::tuple<int, int, bool>> {};

TEST_P(DataPipeline, GivesEqualBits) {
  const auto [data, pipeline, zero] = GetParam();
  PretrainConfig c = config();
  c.parallel.data = data;
  c.parallel.pipeline = pipeline;
  c.parallel.zero = zero;
  c.train.micro_batch = data == 2 ? 2 : 1;
  c.parallel.recompute = pipeline == 2   ? Recompute::full
                         : pipeline == 4 ? Recompute::selective
                                         : Recompute::none;
  expect_equal(c, data * pipeline);
}

INSTANTIATE_TEST_SUITE_P(All, DataPipeline,
                         testing::Combine(testing::Values(1, 2, 4), testing::Values(1, 2, 4),
                                          testing::Bool()));

// Twelve groups: 3, 6 and 12 ranks have a power of two of them each, 2 and 4 take turns.
TEST_F(Layouts, RanksOfAnyNumberGiveEqualBits) {
  PretrainConfig c = config();
  c.train.global_batch = c.parallel.reduction_groups = 12;
  c.train.micro_batch = 1;
  c.train.steps = 6;
  const Finished expected = train(c, 1, *folder_, "twelve");
  for (int data : {2, 3, 4, 6, 12}) {
    c.parallel.zero = data != 6 && data != 2;
    expect_equal_run(c, data, *folder_, expected);
  }
  c.train.global_batch = c.parallel.reduction_groups = 10;
  const Finished ten = train(c, 1, *folder_, "ten");
  for (int data : {5, 10}) expect_equal_run(c, data, *folder_, ten);
}

TEST_F(Layouts, MicroBatchesGiveEqualBits) {
  PretrainConfig c = config();
  for (int64_t micro : {2, 4, 8, 16}) {  // of groups of 4
    c.train.micro_batch = micro;
    expect_equal(c, 1);
  }
}

// Twelve groups: four of them, two, or all of a rank, are a subtree of the sum.
TEST_F(Layouts, MicroBatchesOfSeveralGroupsGiveEqualBits) {
  PretrainConfig c = config();
  c.train.global_batch = 24;
  c.parallel.reduction_groups = 12;
  c.train.steps = 6;
  const Finished expected = train(c, 1, *folder_, "groups");
  for (const RunSplit& split :
       {RunSplit{1, 1, 8}, {1, 1, 24}, {3, 1, 4}, {3, 1, 8, true}, {6, 1, 4}, {1, 2, 4}, {3, 2, 4}})
    expect_equal_run(split.of(c), split.ranks(), *folder_, expected);
  c.parallel.recompute = Recompute::full;
  c.train.micro_batch = 8;
  expect_equal_run(c, 1, *folder_, expected);
}

// Both orders of groups are one tree.
TEST_F(Layouts, StridedGroupsGiveEqualBits) {
  PretrainConfig c = config();
  c.train.global_batch = 32;
  c.parallel.reduction_groups = 16;
  c.train.steps = 6;
  const Finished expected = train(c, 1, *folder_, "sixteen");
  for (const GroupOrder order : {GroupOrder::contiguous, GroupOrder::strided}) {
    c.parallel.group_order = order;
    expect_equal_runs(
        c, {{2, 1, 1}, {2, 1, 4, true}, {2, 1, 16}, {4, 1, 2, true}, {8, 1, 2}, {2, 2, 2, true}},
        *folder_, expected);
  }
  c.train.micro_batch = 2;
  c.parallel.pipeline = c.parallel.chunks = 2;
  c.parallel.schedule = ScheduleKind::interleaved;
  c.parallel.recompute = Recompute::full;
  expect_equal_run(c, 4, *folder_, expected);
}

TEST_F(Layouts, OneToSixtyFourRanksGiveEqualBits) {
  PretrainConfig c = config();
  c.model.d_model = 16;
  c.model.n_layers = 2;
  c.train.global_batch = c.parallel.reduction_groups = 64;
  c.train.steps = 3;
  c.train.micro_batch = 8;
  const Finished expected = train(c, 1, *folder_, "sixty-four");
  c.train.micro_batch = 1;
  for (const int data : {2, 4, 8, 16, 32, 64})
    for (const GroupOrder order : {GroupOrder::contiguous, GroupOrder::strided}) {
      c.parallel.group_order = order;
      expect_equal_run(c, data, *folder_, expected);
    }
}

TEST_F(Layouts, RecomputeGivesEqualBits) {
  PretrainConfig c = config();
  for (Recompute recompute : {Recompute::selective, Recompute::full}) {
    c.parallel.recompute = recompute;
    expect_equal(c, 1);
  }
}

// Products of more than 5e5 operations are shared by threads.
TEST_F(Layouts, ThreadsGiveEqualBits) {
  PretrainConfig c = config();
  c.model.d_model = 128;
  c.train.steps = 5;
  const auto run = [&](int threads) {
    c.run.dir = folder_->file(fmt::format("threads{}", threads));
    TrainResult result;
    run_ranks(1, [&](Group& world) {
      kernels::set_threads(threads);  // of the thread that the rank is
      result = pretrain(c, world);
    });
    return Finished{result.losses, result.grad_norms, {}, state_of(c.run.dir)};
  };
  const Finished one = run(1);
  for (int threads : {2, 3}) {
    const Finished more = run(threads);
    EXPECT_EQ(more.losses, one.losses);
    EXPECT_EQ(more.grad_norms, one.grad_norms);
    EXPECT_EQ(first_difference(more.state, one.state), "");
  }
}

TEST_F(Layouts, InterleavedGivesEqualBits) {
  for (int data : {1, 2, 4}) {
    PretrainConfig c = config();
    c.parallel.data = data;
    c.parallel.pipeline = 2;
    c.parallel.chunks = 2;
    c.parallel.schedule = ScheduleKind::interleaved;
    c.parallel.zero = data == 2;
    expect_equal(c, 2 * data);
  }
}

TEST_F(Layouts, InterleavedOverFourStagesGivesEqualBits) {
  PretrainConfig c = config();
  c.model.n_layers = 8;
  c.train.steps = 5;
  const Finished expected = train(c, 1, *folder_, "eight");
  c.parallel.pipeline = 4;
  c.parallel.chunks = 2;
  c.parallel.schedule = ScheduleKind::interleaved;
  const Finished found = train(c, 4, *folder_, "eight_interleaved");
  EXPECT_EQ(found.losses, expected.losses);
  EXPECT_EQ(first_difference(found.state, expected.state), "");
}

TEST_F(Layouts, GpipeAndUnevenStagesGiveEqualBits) {
  PretrainConfig c = config();
  c.parallel.pipeline = 2;
  c.parallel.schedule = ScheduleKind::gpipe;
  expect_equal(c, 4);
  c.parallel.schedule = ScheduleKind::one_f_one_b;
  c.parallel.layers = {3, 1};
  expect_equal(c, 2);
}

void expect_close(const Finished& found, const Finished& expected, const std::string& what) {
  ASSERT_EQ(found.losses.size(), expected.losses.size()) << what;
  for (size_t i = 0; i < found.losses.size(); ++i) {
    EXPECT_NEAR(found.losses[i] / expected.losses[i], 1.0, 1e-5) << what << " step " << i;
    EXPECT_NEAR(found.grad_norms[i] / expected.grad_norms[i], 1.0, 1e-4) << what << " step " << i;
  }
}

TEST_F(Layouts, TensorParallelAgrees) {
  for (int tensor : {2, 4})
    for (bool sequence : {false, true}) {
      PretrainConfig c = config();
      c.parallel.tensor = tensor;
      c.parallel.sequence = sequence;
      c.parallel.zero = sequence;
      const std::string name = fmt::format("tensor{}{}", tensor, sequence);
      expect_close(train(c, tensor, *folder_, name), expected_, name);
    }
}

// The loss is the mean over the tokens that count in the whole batch, however unevenly they fall on
// micro-batches and ranks.
TEST_F(Layouts, UnevenTokenCountsGiveEqualBits) {
  write_small_store(folder_->file("documents.h5"), 9);
  PretrainConfig c = config();
  c.data.train = {folder_->file("documents.h5")};
  c.data.mask_document_ends = true;
  c.data.cross_document_attention = false;
  const Finished expected = train(c, 1, *folder_, "uneven");
  EXPECT_NE(expected.losses, expected_.losses);
  for (int64_t micro : {1, 4}) {
    c.train.micro_batch = micro;
    c.parallel.pipeline = micro == 1 ? 2 : 1;
    const Finished found = train(c, 4, *folder_, fmt::format("uneven{}", micro));
    EXPECT_EQ(found.losses, expected.losses);
    EXPECT_EQ(first_difference(found.state, expected.state), "");
  }
  c.parallel.pipeline = 1;
  c.parallel.tensor = 2;
  expect_close(train(c, 4, *folder_, "uneven_tensor"), expected, "tensor");
}

TEST_F(Layouts, TensorTimesPipelineTimesDataAgrees) {
  PretrainConfig c = config();
  c.parallel.tensor = 2;
  c.parallel.pipeline = 2;
  c.parallel.sequence = true;
  c.parallel.zero = true;
  const Finished found = train(c, 8, *folder_, "cube");
  expect_close(found, expected_, "cube");
  // Data and pipeline do not enter: the same bits as tensor parallelism alone.
  c.parallel.pipeline = 1;
  c.parallel.zero = false;
  const Finished alone = train(c, 2, *folder_, "tensor_alone");
  EXPECT_EQ(found.losses, alone.losses);
  EXPECT_EQ(first_difference(found.state, alone.state), "");
}

TEST_F(Layouts, UntiedVocabularyThatDoesNotDivideAgrees) {
  PretrainConfig c = config();
  c.model.vocab_size = 67;
  c.model.tie_embeddings = false;
  c.train.steps = 5;
  const Finished expected = train(c, 1, *folder_, "odd");
  c.parallel.tensor = 4;
  const Finished found = train(c, 4, *folder_, "odd_tensor");
  expect_close(found, expected, "odd vocabulary");
  EXPECT_EQ(found.state.at("param/head.weight").size(), size_t{67 * 32 * 4});
}

TEST_F(Layouts, UntiedGivesEqualBits) {
  PretrainConfig c = config();
  c.model.tie_embeddings = false;
  c.train.steps = 5;
  const Finished expected = train(c, 1, *folder_, "untied");
  c.parallel.pipeline = 2;
  for (const bool zero : {false, true}) {
    c.parallel.zero = zero;
    const Finished found = train(c, 4, *folder_, fmt::format("untied{}", zero));
    EXPECT_EQ(found.losses, expected.losses);
    EXPECT_EQ(first_difference(found.state, expected.state), "");
  }
}

TEST_F(Layouts, Bf16GivesEqualBits) {
  PretrainConfig c = config();
  c.train.precision = DType::bf16;
  const Finished expected = train(c, 1, *folder_, "bf16");
  EXPECT_LT(expected.losses.back(), expected.losses.front() - 0.05);
  c.parallel.pipeline = 2;
  c.parallel.zero = true;
  const Finished found = train(c, 4, *folder_, "bf16_layout");
  EXPECT_EQ(found.losses, expected.losses);
  EXPECT_EQ(first_difference(found.state, expected.state), "");
}

TEST_F(Layouts, F16AndStochasticRoundingGiveEqualBits) {
  for (bool half : {true, false}) {
    PretrainConfig c = config();
    c.train.precision = half ? DType::f16 : DType::bf16;
    c.optimizer.stochastic_rounding = !half;
    const std::string name = half ? "f16" : "stochastic";
    const Finished expected = train(c, 1, *folder_, name);
    EXPECT_LT(expected.losses.back(), expected.losses.front() - 0.05);
    c.parallel.pipeline = 2;
    c.parallel.zero = true;
    c.train.micro_batch = 2;
    const Finished found = train(c, 4, *folder_, name + "_layout");
    EXPECT_EQ(found.losses, expected.losses) << name;
    EXPECT_EQ(first_difference(found.state, expected.state), "") << name;
  }
}

// Units that multiply several steps of depth at once must not join the ends of two samples.
TEST_F(Layouts, Bf16GivesEqualBitsForSamplesOfOddLength) {
  PretrainConfig c = config();
  c.train.precision = DType::bf16;
  c.model.context = 15;
  const Finished expected = train(c, 1, *folder_, "length_15");
  for (int64_t micro_batch : {2, 4}) {
    c.train.micro_batch = micro_batch;
    const Finished found = train(c, 1, *folder_, fmt::format("length_15{}", micro_batch));
    EXPECT_EQ(found.losses, expected.losses) << micro_batch;
    EXPECT_EQ(first_difference(found.state, expected.state), "") << micro_batch;
  }
}

// What GPT's own models do not have.
TEST(LayoutsOfOtherParts, GiveEqualBits) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  PretrainConfig c = small_config(folder.file("train.h5"));
  c.train.steps = 4;
  c.model.positions = Positions::sinusoidal;
  c.model.sinusoids = kernels::Sinusoid::pairs;
  c.model.scale_embeddings = true;
  c.model.activation = MlpKind::geglu_tanh;
  c.model.activation_dropout = 0.2;
  c.model.attention_dropout = 0.05;
  c.lr.decay = LrConfig::Decay::noam;
  c.lr.warmup = 2;
  const Finished expected = train(c, 1, folder, "expected");
  for (const auto& [data, pipeline, recompute] :
       {std::tuple{2, 1, Recompute::selective}, {1, 2, Recompute::full}, {2, 2, Recompute::none}}) {
    PretrainConfig other = c;
    other.parallel.data = data;
    other.parallel.pipeline = pipeline;
    other.parallel.recompute = recompute;
    other.train.micro_batch = pipeline == 2 ? 2 : 1;
    expect_equal_run(other, data * pipeline, folder, expected);
  }
  c.parallel.tensor = 2;
  const Finished found = train(c, 2, folder, "tensor");
  for (size_t i = 0; i < expected.losses.size(); ++i)
    EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-5);
}

}  // namespace
}  // namespace skein::train
