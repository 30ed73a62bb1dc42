// Encoder–decoders learn, and keep the promise of equal bits wherever pieces end.
#include <gtest/gtest.h>

#include "skein/kernels/threads.h"
#include "skein/models/transformer/transformer.h"
#include "skein/train/trainer.h"

#include "models/two_sided_batch.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

constexpr int64_t kIds = 24;

// A pair is what its number says: the target tells the source's tokens, each three further on. Rows
// are of any length.
class CopySamples : public data::SampleSource {
 public:
  int64_t samples_per_epoch() const override { return 1000; }

 private:
  data::Batch make_batch(const data::SampleRange& range, int /*threads*/) const override {
    std::vector<data::TokenPairs> rows;
    for (int64_t at = 0; at < range.count; ++at) {
      const int64_t i = range[at];
      auto& row = rows.emplace_back();
      for (int64_t pair = 0; pair < (i % 5 == 0 ? 2 : 1); ++pair)
        row.push_back(pair_of(2 * i + pair, i % 5 == 0 ? 3 : 2 + i % 7));
    }
    return data::two_sided_batch(rows, {12, 10, 0, 1, 1}, range);
  }
  static data::TokenPair pair_of(int64_t number, int64_t length) {
    data::TokenPair pair;
    for (int64_t i = 0; i < length; ++i) {
      const auto id = static_cast<int32_t>(2 + (number * 13 + i * i * 5) % (kIds - 5));
      pair.source.push_back(id);
      pair.labels.push_back(id + 3);
    }
    return pair;
  }
};

class CopyTask : public Task {
 public:
  const data::SampleSource& samples() const override { return samples_; }
  int64_t length() const override { return 10; }
  text::StoredTokenizer tokenizer() const override {
    return text::StoredTokenizer(R"({"type":"bytes","version":1})");
  }
  bool validates() const override { return false; }
  Scores validate(const EvaluatedModel&) const override { return {}; }

 private:
  CopySamples samples_;
};

PretrainConfig base_config(ModelConfig model) {
  PretrainConfig c;
  c.model = std::move(model);
  c.model.vocab_size = kIds;
  c.model.context = 16;
  c.model.d_model = 32;
  c.model.d_ff = 48;
  c.model.d_head = 0;
  c.model.n_layers = 6;
  c.model.init_std = 0.02;
  c.model.dropout = 0.1;
  if (!transformer_options(c.model).share_source)
    transformer_options(c.model).source_vocab_size = kIds;
  transformer_options(c.model).encoder_layers = 3;
  c.train.steps = 8;
  c.train.global_batch = 16;
  c.parallel.reduction_groups = 4;
  c.lr.lr = 5e-3;
  c.lr.warmup = 2;
  c.run.log_every = 1000;
  c.run.tensorboard = false;
  return c;
}

Finished run_of(PretrainConfig config, int ranks, const test::Scratch& folder,
                const std::string& name, int threads = 2) {
  config.run.dir = folder.file(name);
  Finished finished;
  run_ranks(ranks, [&](Group& world) {
    kernels::set_threads(threads);
    CopyTask task;
    const TrainResult own = train(config, task, world);
    if (world.rank() > 0) return;
    finished.losses = own.losses;
    finished.grad_norms = own.grad_norms;
  });
  finished.state = state_of(config.run.dir);
  std::filesystem::remove_all(config.run.dir);
  return finished;
}

void expect_equal(const PretrainConfig& c, int ranks, const test::Scratch& folder,
                  const Finished& expected, const std::string& what) {
  const Finished found = run_of(c, ranks, folder, "run");
  EXPECT_EQ(found.losses, expected.losses) << what;
  EXPECT_EQ(found.grad_norms, expected.grad_norms) << what;
  EXPECT_EQ(first_difference(found.state, expected.state), "") << what;
}

struct Kind {
  const char* name;
  ModelConfig (*model)();
};
ModelConfig plain() { return test::small_transformer(); }

class TwoSided : public testing::TestWithParam<Kind> {
 protected:
  TwoSided() : config_(base_config(GetParam().model())) {
    expected_ = run_of(config_, 1, folder_, "expected");
  }

  test::Scratch folder_;
  PretrainConfig config_;
  Finished expected_;
};

TEST_P(TwoSided, GivesEqualBitsWhereverPiecesEnd) {
  ASSERT_EQ(expected_.losses.size(), 8u);
  EXPECT_LT(expected_.losses.back(), expected_.losses.front());
  const std::vector<std::vector<int64_t>> splits{{3, 3},    {2, 4},    {5, 1},      {1, 2, 3},
                                                 {2, 2, 2}, {3, 1, 2}, {1, 2, 1, 2}};
  for (size_t i = 0; i < splits.size(); ++i) {
    PretrainConfig c = config_;
    c.parallel.layers = splits[i];
    c.parallel.pipeline = static_cast<int>(splits[i].size());
    c.parallel.data = i % 3 == 0 ? 2 : 1;
    c.parallel.zero = i % 2 == 0;
    c.parallel.schedule = i == 1 ? ScheduleKind::gpipe : ScheduleKind::one_f_one_b;
    c.parallel.recompute =
        std::array{Recompute::none, Recompute::full, Recompute::selective}[i % 3];
    c.train.micro_batch = std::array{1, 2, 1, 8, 4, 2, 8}[i];  // groups are of 4
    expect_equal(c, c.parallel.pipeline * c.parallel.data, folder_, expected_,
                 fmt::format("split {}", i));
  }
}

TEST_P(TwoSided, GivesEqualBitsInterleavedAndOverData) {
  for (const std::vector<int64_t>& layers : {std::vector<int64_t>{}, {1, 2, 2, 1}}) {
    PretrainConfig c = config_;
    c.parallel.pipeline = 2;
    c.parallel.chunks = 2;
    c.parallel.layers = layers;
    c.parallel.schedule = ScheduleKind::interleaved;
    expect_equal(c, 2, folder_, expected_, "interleaved");
  }
  PretrainConfig c = config_;
  c.parallel.data = 4;
  c.parallel.zero = true;
  c.parallel.recompute = Recompute::full;
  c.train.micro_batch = 4;
  expect_equal(c, 4, folder_, expected_, "data");
  c.parallel.data = 1;
  c.train.micro_batch = 16;
  expect_equal(c, 1, folder_, expected_, "one micro-batch");
}

TEST_P(TwoSided, AgreesOverTensorParallelRanks) {
  for (const auto& [tensor, pipeline, sequence] :
       {std::tuple{2, 1, false}, {2, 1, true}, {4, 1, true}, {2, 2, true}}) {
    PretrainConfig c = config_;
    c.parallel.tensor = tensor;
    c.parallel.pipeline = pipeline;
    c.parallel.sequence = sequence;
    const Finished found = run_of(c, tensor * pipeline, folder_, "tensor");
    ASSERT_EQ(found.losses.size(), expected_.losses.size());
    for (size_t i = 0; i < found.losses.size(); ++i) {
      EXPECT_NEAR(found.losses[i] / expected_.losses[i], 1, 1e-5) << tensor << " step " << i;
      EXPECT_NEAR(found.grad_norms[i] / expected_.grad_norms[i], 1, 1e-4) << tensor;
    }
  }
}

TEST_P(TwoSided, GivesEqualBitsInBf16) {
  PretrainConfig c = config_;
  c.train.precision = DType::bf16;
  const Finished expected = run_of(c, 1, folder_, "bf16");
  c.parallel.pipeline = 4;
  c.parallel.layers = {2, 2, 1, 1};
  c.train.micro_batch = 2;
  expect_equal(c, 4, folder_, expected, "bf16");
}

// Products of more than 5e5 operations are shared by threads.
TEST_P(TwoSided, GivesEqualBitsOfAnyThreads) {
  PretrainConfig c = config_;
  c.model.d_model = 128;
  c.model.d_ff = 256;
  c.train.micro_batch = 4;
  c.train.steps = 4;
  const Finished one = run_of(c, 1, folder_, "one", 1);
  for (int threads : {2, 3}) {
    const Finished more = run_of(c, 1, folder_, "more", threads);
    EXPECT_EQ(more.losses, one.losses) << threads;
    EXPECT_EQ(more.grad_norms, one.grad_norms) << threads;
    EXPECT_EQ(first_difference(more.state, one.state), "") << threads;
  }
}

// Blocks are frozen from the first on, so into the decoder only once the encoder is.
TEST_P(TwoSided, GivesEqualBitsFrozen) {
  for (const int64_t frozen : {0, 2, 3, 4}) {
    PretrainConfig c = config_;
    c.train.steps = 4;
    c.train.frozen_layers = frozen;
    const Finished expected = run_of(c, 1, folder_, "frozen");
    for (const std::vector<int64_t>& layers : {std::vector<int64_t>{0, 3, 3}, {1, 1, 2, 2}}) {
      c.parallel.layers = layers;
      c.parallel.pipeline = static_cast<int>(layers.size());
      expect_equal(c, c.parallel.pipeline, folder_, expected, fmt::format("frozen {}", frozen));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TwoSided,
                         testing::Values(Kind{"plain", plain}, Kind{"t5", test::small_t5},
                                         Kind{"bart", test::small_bart},
                                         Kind{"translator", test::small_translator}),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace skein::train
