#include "skein/generate/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "skein/comm/local.h"
#include "skein/tensor/cuda.h"

namespace skein {
namespace {

ModelConfig model(bool rotary) {
  ModelConfig c;
  c.vocab_size = 67;
  c.context = 48;
  c.d_model = 32;
  c.n_layers = 4;
  c.n_heads = 4;
  c.init_std = 0.3;
  if (rotary) {
    c.positions = Positions::rotary;
    c.n_kv_heads = 2;
    c.activation = MlpKind::swiglu;
    c.norm = ops::Norm::rms;
    c.tie_embeddings = false;
  }
  return c;
}

const std::vector<Tokens> kPrompts{{1, 2, 3}, {5}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11}, {}, {66, 1}, {3, 3, 3, 3, 3}, {42}};

struct Layout {
  int pipeline = 1, tensor = 1, chunks = 1, ranks = 1;
  int64_t batch = 3;
  double temperature = 0.9;
  DeviceKind device = DeviceKind::cpu;
};

std::vector<Tokens> generated(const ModelConfig& config, const Layout& setup) {
  std::vector<Tokens> result;
  run_ranks(setup.ranks, [&](Group& world) {
    ParallelConfig parallel;
    parallel.pipeline = setup.pipeline;
    parallel.tensor = setup.tensor;
    parallel.chunks = setup.chunks;
    parallel.sequence = setup.tensor > 1;
    parallel.device = setup.device;
    Mesh mesh(world, mesh_shape(parallel, setup.ranks));
    LocalModel local(config, parallel, mesh, DType::f32);
    local.parameters().allocate(false);
    local.parameters().initialize(3);
    GenerateConfig options;
    options.max_tokens = 24;
    options.batch = setup.batch;
    options.sampling.temperature = setup.temperature;
    const auto own = Generator(config, local, mesh, options, 66).run(kPrompts);
    EXPECT_EQ(own.size(), kPrompts.size());
    if (world.rank() == setup.ranks - 1) result = own;
  });
  return result;
}

// The likeliest next token of the whole sequence, run without a cache.
int32_t next_without_cache(const ModelConfig& config, const Gpt& gpt, const Tokens& sequence, Group& alone) {
  const auto length = static_cast<int64_t>(sequence.size());
  Batch batch;
  batch.tokens = Tensor::from(sequence, {1, length});
  batch.positions = Tensor::zeros({1, length}, DType::i32);
  for (int64_t i = 0; i < length; ++i) batch.positions.data<int32_t>()[i] = static_cast<int32_t>(i);
  Pass pass;
  pass.tp = &alone;
  pass.batch = &batch;
  const NoGrad no_grad;
  const Tensor logits = gpt.logits(gpt.forward({}, pass).value());
  const float* last = logits.data<float>() + (length - 1) * config.vocab_size;
  return static_cast<int32_t>(std::max_element(last, last + config.vocab_size) - last);
}

class Generation : public testing::TestWithParam<bool> {};

TEST_P(Generation, WithACacheIsTheSameAsWithout) {
  const ModelConfig config = model(GetParam());
  Layout greedy;
  greedy.temperature = 0;
  const auto found = generated(config, greedy);
  const auto alone = single_rank();
  Parameters parameters(DType::f32, 0, 1);
  const Gpt gpt(config, {0, 4, true, true, 0}, false, parameters);
  parameters.allocate(false);
  parameters.initialize(3);
  for (size_t i = 0; i < kPrompts.size(); ++i) {
    Tokens sequence = kPrompts[i].empty() ? Tokens{66} : kPrompts[i];
    const size_t begin = sequence.size();
    while (sequence.size() - begin < 24) {
      const int32_t next = next_without_cache(config, gpt, sequence, *alone);
      if (next == 66) break;
      sequence.push_back(next);
    }
    EXPECT_EQ(found[i], Tokens(sequence.begin() + static_cast<int64_t>(begin), sequence.end())) << i;
  }
}

TEST_P(Generation, DoesNotDependOnBatchOrLayout) {
  const ModelConfig config = model(GetParam());
  const auto expected = generated(config, {});
  for (const Layout& setup : {Layout{1, 1, 1, 1, 1}, Layout{1, 1, 1, 1, 7}, Layout{1, 1, 1, 2, 2}, Layout{1, 1, 1, 4, 1}, Layout{2, 1, 1, 2, 3},
                             Layout{4, 1, 1, 4, 2}, Layout{2, 1, 2, 2, 3}, Layout{2, 1, 1, 4, 1}})
    EXPECT_EQ(generated(config, setup), expected) << setup.pipeline << setup.chunks << setup.ranks << setup.batch;
}

TEST_P(Generation, OverTensorShardsTakesTheSameTokens) {
  const ModelConfig config = model(GetParam());
  const auto expected = generated(config, {});
  EXPECT_EQ(generated(config, {1, 2, 1, 2, 3}), expected);
  EXPECT_EQ(generated(config, {2, 2, 1, 8, 3}), expected);
}

INSTANTIATE_TEST_SUITE_P(Models, Generation, testing::Bool());

TEST(OnGpu, TakesTheTokensOfTheCpu) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
  for (bool rotary : {false, true})
    for (Layout setup : {Layout{1, 1, 1, 1, 3}, {1, 1, 1, 1, 3, 0}, {1, 2, 1, 2, 3}, {2, 1, 1, 2, 3}}) {
      const auto expected = generated(model(rotary), setup);
      setup.device = DeviceKind::cuda;
      EXPECT_EQ(generated(model(rotary), setup), expected) << rotary << setup.tensor << setup.pipeline << setup.temperature;
    }
}

TEST(Generator, StopsAtTheContextAndRefusesWhatDoesNotFit) {
  ModelConfig config = model(false);
  config.context = 12;
  const auto alone = single_rank();
  Mesh mesh(*alone, {1, 1, 1});
  LocalModel local(config, {}, mesh, DType::f32);
  local.parameters().allocate(false);
  local.parameters().initialize(3);
  GenerateConfig options;
  options.stop_at_end = false;
  Generator generator(config, local, mesh, options, -1);
  EXPECT_EQ(generator.run({{1, 2, 3}})[0].size(), 9u);
  const auto message = [&](const Tokens& prompt) {
    try {
      generator.run({{1}, prompt});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message(Tokens(12, 1)).find("prompt 2 has 12 tokens, which leaves no room in the model's context of 12"), std::string::npos);
  EXPECT_NE(message({67}).find("token 67, outside of the vocabulary of 67"), std::string::npos);
  EXPECT_NE(message({}).find("prompt 2 is empty"), std::string::npos);
}

// One rank's generator over a model of 67 ids and a context of 12.
struct Small {
  explicit Small(const GenerateConfig& options, int64_t vocabulary = 0)
      : config(made()), local(config, {}, mesh, DType::f32), generator(config, local, mesh, options, -1, vocabulary) {
    local.parameters().allocate(false);
    local.parameters().initialize(3);
  }
  static ModelConfig made() {
    ModelConfig c = model(false);
    c.context = 12;
    return c;
  }

  ModelConfig config;
  std::unique_ptr<Group> alone = single_rank();
  Mesh mesh{*alone, {1, 1, 1}};
  LocalModel local;
  Generator generator;
};

TEST(Generator, MakesOnlyIdsOfTheVocabulary) {
  GenerateConfig options;
  options.sampling.temperature = 5;
  const auto largest = [&](int64_t vocabulary) {
    int32_t found = 0;
    for (const Tokens& tokens : Small(options, vocabulary).generator.run({{1}, {2}, {3}}))
      for (int32_t id : tokens) found = std::max(found, id);
    return found;
  };
  EXPECT_GE(largest(0), 10);
  EXPECT_LT(largest(10), 10);
  EXPECT_EQ(largest(1000), largest(0));
}

TEST(Generator, HugeLimitsCostNoMoreThanTheContextAndThePrompts) {
  GenerateConfig options;
  options.max_tokens = std::numeric_limits<int64_t>::max();
  options.batch = std::numeric_limits<int64_t>::max();
  const auto made = Small(options).generator.run({{1, 2, 3}, {4}});
  EXPECT_EQ(made[0].size(), 9u);
  EXPECT_EQ(made[1].size(), 11u);
  EXPECT_TRUE(Small(options).generator.run({}).empty());
}

TEST(Generator, TellsHowManyPromptsAreFinished) {
  GenerateConfig options;
  options.max_tokens = 1;
  options.batch = 2;
  std::vector<size_t> told;
  Small(options).generator.run({{1}, {2}, {3}, {4}, {5}}, [&](size_t finished) { told.push_back(finished); });
  EXPECT_EQ(told, (std::vector<size_t>{2, 4, 5}));
}

}  // namespace
}  // namespace skein
