// Small models that generate.
#pragma once

#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/generate/generator.h"
#include "skein/tensor/cuda.h"

namespace skein::test {

inline ModelConfig model(bool rotary) {
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

inline const std::vector<generate::Tokens> kPrompts{
    {1, 2, 3}, {5}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11}, {}, {66, 1}, {3, 3, 3, 3, 3}, {42}};

struct Layout {
  int pipeline = 1, tensor = 1, chunks = 1, ranks = 1;
  int64_t batch = 3;
  double temperature = 0.9;
  DeviceKind device = DeviceKind::cpu;
  int32_t end = 66;
  int64_t vocabulary = 0;
  std::vector<int64_t> banned = {};
  generate::BeamConfig beam = {};
  int64_t tokens = 24;
};

// Calls f with a generator on each rank, with options that `change` changes.
template <class F>
void with_generator(const ModelConfig& config, const Layout& setup, const F& f,
                    const std::function<void(generate::GenerateConfig&)>& change = {}) {
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
    generate::GenerateConfig options;
    options.max_tokens = setup.tokens;
    options.batch = setup.batch;
    options.sampling.temperature = setup.temperature;
    options.sampling.banned = setup.banned;
    options.beam = setup.beam;
    if (change) change(options);
    generate::Generator generator(config, local, mesh, options, setup.end, setup.vocabulary);
    f(generator, world);
  });
}

inline std::vector<generate::Continuation> generated(
    const ModelConfig& config, const Layout& setup,
    const std::vector<generate::Tokens>& prompts = kPrompts) {
  std::vector<generate::Continuation> result;
  with_generator(config, setup, [&](generate::Generator& generator, Group& world) {
    const auto own = generator.run(prompts);
    EXPECT_EQ(own.size(), prompts.size());
    if (world.rank() == world.size() - 1) result = own;
  });
  return result;
}

// Ends after 12 tokens on average, of 24 at most.
inline Layout brief(int64_t batch) {
  Layout made;
  made.batch = batch;
  made.temperature = 50;
  made.end = 11;
  made.vocabulary = 12;
  return made;
}

// Of different lengths; every fourth stands there three times in a row.
inline std::vector<generate::Tokens> many_prompts(int count) {
  std::vector<generate::Tokens> made;
  for (int i = 0; i < count; ++i) {
    const generate::Tokens prompt(static_cast<size_t>(1 + i * 5 % 11), i % 67);
    made.insert(made.end(), i % 4 == 0 ? 3 : 1, prompt);
  }
  return made;
}

// One rank's generator over a model of 67 ids and a context of 12.
struct Small {
  explicit Small(const generate::GenerateConfig& options, int64_t vocabulary = 0)
      : config(made()),
        local(config, {}, mesh, DType::f32),
        generator(config, local, mesh, options, -1, vocabulary) {
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
  generate::Generator generator;
};

}  // namespace skein::test
