// Decoding with encoder-decoders: as without a cache, and the same whatever the batch and the
// layout.
#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "skein/comm/local.h"
#include "skein/generate/generator.h"
#include "skein/models/architecture.h"
#include "skein/models/description.h"
#include "skein/tensor/cuda.h"

#include "models/two_sided_batch.h"

namespace skein::generate {
namespace {

using Found = std::vector<std::vector<Continuation>>;

constexpr int32_t kEnd = 3;
constexpr int64_t kMost = 12;

// The model with places for sources and answers of these tests.
ModelConfig roomy(ModelConfig config) {
  config.context = 20;
  config.vocab_size = 23;
  config.init_std = 1;
  transformer_options(config).source_context = 16;
  return config;
}

const std::vector<ModelConfig> kModels{roomy(test::small_transformer()), roomy(test::small_t5()),
                                       roomy(test::small_bart()), roomy(test::small_translator())};

struct PairLayout {
  int64_t batch = 3, beams = 0;
  int ranks = 1, pipeline = 1, tensor = 1, chunks = 1;
  DeviceKind device = DeviceKind::cpu;
};

GenerateConfig configured(const PairLayout& layout) {
  GenerateConfig made;
  made.max_tokens = kMost;
  made.batch = layout.batch;
  made.start = {1};
  made.sampling.temperature = 0;
  made.beam.size = layout.beams;
  made.beam.best = std::max<int64_t>(1, layout.beams);
  made.beam.early_stop = EarlyStop::never;
  if (layout.beams > 0) made.beam.no_repeat_ngram = 2;
  return made;
}

std::vector<Tokens> some_sources() {
  std::vector<Tokens> made;
  for (int64_t i = 0; i < 9; ++i) {
    made.push_back(test::some_ids(1 + i * 5 % 14, i, 13));
    if (i == 4) made.push_back(made.back());
  }
  return made;
}

// Answers to all sources; without beams one to each.
Found answered(const ModelConfig& config, const PairLayout& layout) {
  Found result;
  run_ranks(layout.ranks, [&](Group& world) {
    ParallelConfig parallel;
    parallel.pipeline = layout.pipeline;
    parallel.tensor = layout.tensor;
    parallel.chunks = layout.chunks;
    parallel.device = layout.device;
    Mesh mesh(world, mesh_shape(parallel, layout.ranks));
    LocalModel local(config, parallel, mesh, DType::f32);
    local.parameters().allocate(false);
    local.parameters().initialize(3);
    Generator generator(config, local, mesh, configured(layout), kEnd);
    Found own;
    if (layout.beams > 0)
      own = generator.search(some_sources());
    else
      for (Continuation& one : generator.run(some_sources())) own.push_back({std::move(one)});
    if (world.rank() == world.size() - 1) result = own;
  });
  return result;
}

// The whole model, run over a source and all tokens of its answer each time.
class PairsWithoutCache {
 public:
  explicit PairsWithoutCache(const ModelConfig& config)
      : model_(config.architecture->piece(config, whole_piece(config), false, parameters_)) {
    parameters_.allocate(false);
    parameters_.initialize(3);
  }

  // Of what follows the start and these tokens.
  std::vector<float> log_probabilities(const Tokens& source, const Tokens& tokens) const {
    Tokens fed{1};
    fed.insert(fed.end(), tokens.begin(), tokens.end());
    data::Batch batch;
    static_cast<data::Sequence&>(batch) = sequence_of(fed);
    batch.source = sequence_of(source);
    Pass pass;
    pass.tp = alone_.get();
    pass.batch = &batch;
    const NoGrad no_grad;
    const Predictor& predictor = *model_->predictor();
    const Tensor logits =
        predictor.logits(predictor.rows(model_->forward({}, pass).only(), pass).value());
    const int64_t ids = logits.dim(1);
    const float* last = logits.data<float>() + (logits.dim(0) - 1) * ids;
    double sum = 0;
    for (int64_t id = 0; id < ids; ++id) sum += std::exp(double{last[id]});
    std::vector<float> made;
    for (int64_t id = 0; id < ids; ++id)
      made.push_back(static_cast<float>(last[id] - std::log(sum)));
    return made;
  }

  std::vector<Continuation> searched(const BeamConfig& beam, const Tokens& source) const {
    const Tokens start{1};
    BeamSearch search(beam, start, kMost, kEnd);
    while (!search.finished()) {
      std::vector<Candidate> candidates;
      for (size_t number = 0; number < search.beams().size(); ++number) {
        const std::vector<int32_t> banned = search.next(number).banned;
        const auto all = log_probabilities(source, search.beams()[number].tokens);
        for (int32_t id = 0; id < std::ssize(all); ++id)
          if (std::find(banned.begin(), banned.end(), id) == banned.end())
            candidates.push_back({static_cast<int64_t>(number), id, all[static_cast<size_t>(id)]});
      }
      search.advance(candidates);
    }
    return search.best();
  }

 private:
  static data::Sequence sequence_of(const Tokens& tokens) {
    data::Sequence made;
    made.tokens = Tensor::from(tokens, {1, std::ssize(tokens)});
    Tokens places(tokens.size());
    std::iota(places.begin(), places.end(), 0);
    made.positions = Tensor::from(places, {1, std::ssize(tokens)});
    return made;
  }

  std::unique_ptr<Group> alone_ = single_rank();
  Parameters parameters_{DType::f32, 0, 1};
  std::unique_ptr<Model> model_;
};

void expect_alike(const std::vector<Continuation>& found, const std::vector<Continuation>& expected,
                  const std::string& where) {
  ASSERT_EQ(found.size(), expected.size()) << where;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].tokens, expected[i].tokens) << where << ", answer " << i;
    EXPECT_EQ(found[i].ended, expected[i].ended) << where << ", answer " << i;
    EXPECT_NEAR(found[i].score, expected[i].score, 1e-4) << where << ", answer " << i;
  }
}

class EncoderDecoders : public testing::TestWithParam<size_t> {
 protected:
  const ModelConfig& config() const { return kModels[GetParam()]; }
};

TEST_P(EncoderDecoders, FindWithACacheWhatTheyFindWithout) {
  const PairsWithoutCache reference(config());
  const auto sources = some_sources();
  for (int64_t beams : {1, 3}) {
    const PairLayout layout{.beams = beams};
    const Found found = answered(config(), layout);
    for (size_t i = 0; i < sources.size(); ++i)
      expect_alike(found[i], reference.searched(configured(layout).beam, sources[i]),
                   fmt::format("{} beams, source {}", beams, i));
  }
}

TEST_P(EncoderDecoders, AnswerAlikeAtAnyBatchAndLayout) {
  for (int64_t beams : {0, 4}) {
    const Found expected = answered(config(), {.batch = 1, .beams = beams});
    std::set<Tokens> different;
    for (const auto& answers : expected) different.insert(answers.front().tokens);
    EXPECT_GT(different.size(), 2u) << "sources make a difference";
    for (PairLayout layout : {PairLayout{.batch = 2},
                              {.batch = 100},
                              {.ranks = 3},
                              {.ranks = 2, .pipeline = 2},
                              {.ranks = 3, .pipeline = 3},
                              {.ranks = 4, .pipeline = 4},
                              {.ranks = 4, .pipeline = 2, .chunks = 2}}) {
      layout.beams = beams;
      EXPECT_EQ(answered(config(), layout), expected)
          << beams << " beams, batch " << layout.batch << ", " << layout.ranks << " ranks, "
          << layout.pipeline << " stages of " << layout.chunks;
    }
  }
}

TEST_P(EncoderDecoders, AnswerAlikeOverTensorShards) {
  const Found expected = answered(config(), {.beams = 3});
  for (const PairLayout& layout : {PairLayout{.beams = 3, .ranks = 2, .tensor = 2},
                                   {.beams = 3, .ranks = 4, .pipeline = 2, .tensor = 2}}) {
    const Found found = answered(config(), layout);
    for (size_t i = 0; i < found.size(); ++i)
      expect_alike(found[i], expected[i], fmt::format("source {}", i));
  }
}

// A stage on a GPU tries each shape alone before it exchanges, and no cache may see that.
TEST(OnGpu, EncoderDecodersAnswerOverStages) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
  for (const ModelConfig& config : kModels) {
    PairLayout layout{.ranks = 2, .pipeline = 2};
    const Found expected = answered(config, layout);
    layout.device = DeviceKind::cuda;
    EXPECT_EQ(answered(config, layout), expected);
  }
}

std::string name_of(const testing::TestParamInfo<size_t>& info) {
  return std::array{"transformer", "t5", "bart", "translator"}.at(info.param);
}
INSTANTIATE_TEST_SUITE_P(Models, EncoderDecoders, testing::Range<size_t>(0, 4), name_of);

}  // namespace
}  // namespace skein::generate
