#include "skein/generate/generator.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "skein/comm/local.h"
#include "skein/models/gpt/gpt.h"
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

const std::vector<Tokens> kPrompts{
    {1, 2, 3}, {5}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11}, {}, {66, 1}, {3, 3, 3, 3, 3}, {42}};

struct Layout {
  int pipeline = 1, tensor = 1, chunks = 1, ranks = 1;
  int64_t batch = 3;
  double temperature = 0.9;
  DeviceKind device = DeviceKind::cpu;
  int32_t end = 66;
  int64_t vocabulary = 0;
  std::vector<int64_t> banned = {};
};

// Calls f with a generator on each rank.
template <class F>
void with_generator(const ModelConfig& config, const Layout& setup, const F& f) {
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
    options.sampling.banned = setup.banned;
    Generator generator(config, local, mesh, options, setup.end, setup.vocabulary);
    f(generator, world);
  });
}

std::vector<Continuation> generated(const ModelConfig& config, const Layout& setup,
                                    const std::vector<Tokens>& prompts = kPrompts) {
  std::vector<Continuation> result;
  with_generator(config, setup, [&](Generator& generator, Group& world) {
    const auto own = generator.run(prompts);
    EXPECT_EQ(own.size(), prompts.size());
    if (world.rank() == world.size() - 1) result = own;
  });
  return result;
}

// Ends after 12 tokens on average, of 24 at most.
Layout brief(int64_t batch) {
  Layout made;
  made.batch = batch;
  made.temperature = 50;
  made.end = 11;
  made.vocabulary = 12;
  return made;
}

// Of different lengths; every fourth stands there three times in a row.
std::vector<Tokens> many_prompts(int count) {
  std::vector<Tokens> made;
  for (int i = 0; i < count; ++i) {
    const Tokens prompt(static_cast<size_t>(1 + i * 5 % 11), i % 67);
    made.insert(made.end(), i % 4 == 0 ? 3 : 1, prompt);
  }
  return made;
}

// The likeliest next token of the whole sequence, run without a cache.
int32_t next_without_cache(const ModelConfig& config, const Gpt& gpt, const Tokens& sequence,
                           Group& alone) {
  const auto length = static_cast<int64_t>(sequence.size());
  Batch batch;
  batch.tokens = Tensor::from(sequence, {1, length});
  batch.positions = Tensor::zeros({1, length}, DType::i32);
  for (int64_t i = 0; i < length; ++i) batch.positions.data<int32_t>()[i] = static_cast<int32_t>(i);
  Pass pass;
  pass.tp = &alone;
  pass.batch = &batch;
  const NoGrad no_grad;
  const Tensor logits = gpt.logits(gpt.forward({}, pass).only().value());
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
    Continuation expected;
    while (!expected.ended && sequence.size() - begin < 24) {
      const int32_t next = next_without_cache(config, gpt, sequence, *alone);
      expected.ended = next == 66;
      if (!expected.ended) sequence.push_back(next);
    }
    expected.tokens.assign(sequence.begin() + static_cast<int64_t>(begin), sequence.end());
    EXPECT_EQ(found[i], expected) << i;
  }
}

TEST_P(Generation, DoesNotDependOnBatchOrLayout) {
  const ModelConfig config = model(GetParam());
  const auto expected = generated(config, {});
  for (const Layout& setup :
       {Layout{1, 1, 1, 1, 1}, Layout{1, 1, 1, 1, 7}, Layout{1, 1, 1, 2, 2}, Layout{1, 1, 1, 4, 1},
        Layout{2, 1, 1, 2, 3}, Layout{4, 1, 1, 4, 2}, Layout{2, 1, 2, 2, 3}, Layout{2, 1, 1, 4, 1}})
    EXPECT_EQ(generated(config, setup), expected)
        << setup.pipeline << setup.chunks << setup.ranks << setup.batch;
}

TEST_P(Generation, WhereSequencesEndAndOthersTakeTheirRowsIsTheSameOneByOne) {
  const ModelConfig config = model(GetParam());
  const auto prompts = many_prompts(20);
  const auto expected = generated(config, brief(1), prompts);
  const auto ended = std::count_if(expected.begin(), expected.end(),
                                   [](const Continuation& one) { return one.ended; });
  EXPECT_GT(ended, 20);
  EXPECT_LT(ended, 30) << "some are cut";
  for (const Continuation& one : expected) EXPECT_TRUE(one.ended || one.tokens.size() == 24u);
  for (int64_t batch : {2, 5, 8, 30, 1000})
    EXPECT_EQ(generated(config, brief(batch), prompts), expected) << batch;
  for (const auto& [pipeline, chunks, ranks] : {std::array{1, 1, 3}, {2, 1, 2}, {2, 2, 4}}) {
    Layout setup = brief(5);
    setup.pipeline = pipeline;
    setup.chunks = chunks;
    setup.ranks = ranks;
    EXPECT_EQ(generated(config, setup, prompts), expected) << pipeline << chunks << ranks;
  }
}

TEST_P(Generation, OverTensorShardsTakesTheSameTokens) {
  const ModelConfig config = model(GetParam());
  const auto expected = generated(config, {});
  EXPECT_EQ(generated(config, {1, 2, 1, 2, 3}), expected);
  EXPECT_EQ(generated(config, {2, 2, 1, 8, 3}), expected);
  Layout setup = brief(5);
  const auto brief_ones = generated(config, setup, many_prompts(12));
  setup.tensor = setup.ranks = 2;
  EXPECT_EQ(generated(config, setup, many_prompts(12)), brief_ones);
}

INSTANTIATE_TEST_SUITE_P(Models, Generation, testing::Bool());

TEST(OnGpu, TakesTheTokensOfTheCpu) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
  for (bool rotary : {false, true})
    for (Layout setup :
         {Layout{1, 1, 1, 1, 3}, {1, 1, 1, 1, 3, 0}, {1, 2, 1, 2, 3}, {2, 1, 1, 2, 3}}) {
      const auto expected = generated(model(rotary), setup);
      setup.device = DeviceKind::cuda;
      EXPECT_EQ(generated(model(rotary), setup), expected)
          << rotary << setup.tensor << setup.pipeline << setup.temperature;
    }
  // Rows are moved there, and tokens banned.
  Layout setup = brief(4);
  setup.banned = {3, 5};
  const auto expected = generated(model(true), setup, many_prompts(8));
  setup.device = DeviceKind::cuda;
  EXPECT_EQ(generated(model(true), setup, many_prompts(8)), expected);
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
  const Continuation cut = generator.run({{1, 2, 3}})[0];
  EXPECT_EQ(cut.tokens.size(), 9u);
  EXPECT_FALSE(cut.ended);
  const auto message = [&](const Tokens& prompt) {
    try {
      generator.run({{1}, prompt});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message(Tokens(12, 1))
                .find("prompt 2 has 12 tokens, which leaves no room in the model's context of 12"),
            std::string::npos);
  EXPECT_NE(message({67}).find("token 67, outside of the vocabulary of 67"), std::string::npos);
  EXPECT_NE(message({}).find("prompt 2 is empty"), std::string::npos);
}

// One rank's generator over a model of 67 ids and a context of 12.
struct Small {
  explicit Small(const GenerateConfig& options, int64_t vocabulary = 0)
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
  Generator generator;
};

TEST(Generator, MakesOnlyIdsOfTheVocabulary) {
  GenerateConfig options;
  options.sampling.temperature = 5;
  const auto largest = [&](int64_t vocabulary) {
    int32_t found = 0;
    for (const Continuation& one : Small(options, vocabulary).generator.run({{1}, {2}, {3}}))
      for (int32_t id : one.tokens) found = std::max(found, id);
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
  EXPECT_EQ(made[0].tokens.size(), 9u);
  EXPECT_EQ(made[1].tokens.size(), 11u);
  EXPECT_TRUE(Small(options).generator.run({}).empty());
}

TEST(Generator, TellsHowManyPromptsAreFinished) {
  GenerateConfig options;
  options.max_tokens = 1;
  options.batch = 2;
  std::vector<size_t> told;
  Small(options).generator.run({{1}, {2}, {3}, {4}, {5}}, {}, [&](size_t finished, size_t of) {
    EXPECT_EQ(of, 5u);
    told.push_back(finished);
  });
  EXPECT_EQ(told, (std::vector<size_t>{2, 4, 5}));
}

// Ranks with different numbers of tokens to make; afterwards it continues prompts as if nothing had
// been.
TEST(Generator, IsInterruptedOnAllRanksBetweenTwoTokens) {
  for (const bool stages : {false, true}) {
    Layout setup = brief(3);
    setup.ranks = 2;
    setup.pipeline = stages ? 2 : 1;
    const std::vector<Tokens> prompts = many_prompts(12);
    const auto expected = generated(model(true), setup, prompts);
    with_generator(model(true), setup, [&](Generator& generator, Group& world) {
      int looks = 0;
      bool interrupted = false;
      Meeting meeting(world, [&] { return world.rank() == 1 && ++looks == 3; });
      try {
        generator.run(prompts, {}, {}, &meeting);
      } catch (const Interruption&) {
        interrupted = true;
      }
      EXPECT_TRUE(interrupted);
      EXPECT_GT(generator.work().steps, 0);
      EXPECT_EQ(generator.run(prompts, {}, {}, &meeting), expected);
    });
  }
}

TEST(Generator, DrawsByTheNumbersGiven) {
  GenerateConfig options;
  options.sampling.temperature = 5;
  Small small(options);
  const std::vector<Tokens> prompts{{1, 2}, {3}, {1, 2}};
  const std::vector<uint64_t> own{0, 1, 2}, others{3, 4, 3}, huge{~uint64_t{0}, 1, 2};
  const auto usual = small.generator.run(prompts), other = small.generator.run(prompts, others);
  EXPECT_EQ(small.generator.run(prompts, own), usual);
  EXPECT_NE(usual[0], usual[2]) << "equal prompts have different draws";
  EXPECT_EQ(other[0], other[2]);
  for (size_t i = 0; i < prompts.size(); ++i) EXPECT_NE(other[i], usual[i]) << i;
  const auto far = small.generator.run(prompts, huge);
  EXPECT_NE(far[0], usual[0]);
  EXPECT_EQ(far[1], usual[1]);
}

// What is chosen after the prompt costs a row each.
int64_t choices_after_the_first(const std::vector<Continuation>& all) {
  int64_t sum = 0;
  for (const Continuation& one : all)
    sum += static_cast<int64_t>(one.tokens.size()) + one.ended - 1;
  return sum;
}

TEST(Generator, FeedsFewRowsOfFinishedSequences) {
  const auto prompts = many_prompts(40);
  for (int64_t batch : {1, 4, 16, 1000})
    with_generator(model(false), brief(batch), [&](Generator& generator, Group&) {
      const auto made = generator.run(prompts);
      const DecodingWork& work = generator.work();
      EXPECT_EQ(work.live, choices_after_the_first(made));
      EXPECT_GE(work.rows, work.live);
      EXPECT_LE((work.rows - work.live) * 4, work.rows) << batch;
      EXPECT_TRUE(batch > 1 || work.rows == work.live);
      EXPECT_TRUE(batch != 16 || work.rows > work.steps * 10)
          << "full batches but for the last sequences";
    });
}

TEST(Generator, FeedsEqualNeighboursOnce) {
  Layout setup = brief(1000);
  with_generator(model(true), setup, [&](Generator& generator, Group&) {
    const std::vector<Tokens> apart{{1, 2}, {3, 4}, {1, 2}, {3, 4}, {1, 2}, {3, 4}},
        together{{1, 2}, {1, 2}, {1, 2}, {3, 4}, {3, 4}, {3, 4}};
    const std::vector<uint64_t> numbers{0, 2, 4, 1, 3, 5};
    const auto expected = generator.run(apart);
    EXPECT_EQ(generator.work().prompts, 6);
    const auto found = generator.run(together, numbers);
    EXPECT_EQ(generator.work().prompts, 2);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], expected[numbers[i]]) << i;
  });
}

TEST_P(Generation, GoesOnWhenTheCacheIsFull) {
  ModelConfig config = model(GetParam());
  config.context = 300;
  const auto run = [&](int64_t tokens, const std::vector<Tokens>& prompts) {
    const auto alone = single_rank();
    Mesh mesh(*alone, {1, 1, 1});
    LocalModel local(config, {}, mesh, DType::f32);
    local.parameters().allocate(false);
    local.parameters().initialize(3);
    GenerateConfig options;
    options.max_tokens = tokens;
    options.sampling.temperature = 0;
    return Generator(config, local, mesh, options, -1).run(prompts);
  };
  const std::vector<Tokens> prompts{{1, 2, 3}, {5}};
  const auto whole = run(250, prompts);
  ASSERT_EQ(whole[0].tokens.size(), 250u);
  for (size_t i = 0; i < prompts.size(); ++i) {
    // In parts, each of which begins with a cache of its own.
    Tokens sequence = prompts[i];
    for (int part = 0; part < 5; ++part) {
      const Tokens more = run(50, {sequence})[0].tokens;
      sequence.insert(sequence.end(), more.begin(), more.end());
    }
    EXPECT_EQ(Tokens(sequence.begin() + static_cast<int64_t>(prompts[i].size()), sequence.end()),
              whole[i].tokens)
        << i;
  }
}

// They take and leave the second row of the batch beside a sequence that goes on.
TEST(Generator, GoesOnBesideNewcomersThatEndWithTheirFirstToken) {
  ModelConfig config = model(true);
  config.context = 200;
  const auto run = [&](const std::vector<Tokens>& prompts) {
    const auto alone = single_rank();
    Mesh mesh(*alone, {1, 1, 1});
    LocalModel local(config, {}, mesh, DType::f32);
    local.parameters().allocate(false);
    local.parameters().initialize(3);
    GenerateConfig options;
    options.max_tokens = 150;
    options.batch = 2;
    options.sampling.temperature = 0;
    return Generator(config, local, mesh, options, -1).run(prompts);
  };
  std::vector<Tokens> prompts{{1, 2, 3}};
  for (int i = 0; i < 80; ++i) prompts.emplace_back(199, i % 67);  // one token fits behind them
  const auto made = run(prompts);
  EXPECT_EQ(made[0], run({prompts[0]})[0]);
  for (size_t i = 1; i < made.size(); ++i) EXPECT_EQ(made[i].tokens.size(), 1u);
}

TEST(Generator, NeverDrawsBannedTokens) {
  Layout setup = brief(16);
  setup.vocabulary = 0;
  const auto found = [&](const Layout& layout) {
    std::set<int32_t> ids;
    for (const Continuation& one : generated(model(false), layout, many_prompts(40))) {
      ids.insert(one.tokens.begin(), one.tokens.end());
      if (one.ended) ids.insert(layout.end);
    }
    return ids;
  };
  EXPECT_GT(found(setup).size(), 60u);
  setup.banned = {3, 7, 7, 66};
  for (int64_t id = 20; id < 60; ++id) setup.banned.push_back(id);
  const auto left = found(setup);
  EXPECT_EQ(left.size(), 67u - 43u);
  for (int64_t id : setup.banned) EXPECT_FALSE(left.contains(static_cast<int32_t>(id))) << id;
  setup.temperature = 0;
  for (int32_t id : found(setup)) EXPECT_TRUE(left.contains(id)) << id;
  const auto alone = generated(model(false), setup);
  setup.tensor = setup.ranks = 2;
  EXPECT_EQ(generated(model(false), setup), alone);
}

TEST(Generator, RefusesBansThatLeaveNothingOrNameNothing) {
  const auto message = [&](const std::vector<int64_t>& banned, int64_t vocabulary) {
    GenerateConfig options;
    options.sampling.banned = banned;
    try {
      Small(options, vocabulary);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message({0, 66}, 3), "no error");
  EXPECT_NE(message({67}, 3).find("token 67, outside of the model's vocabulary of 67"),
            std::string::npos);
  EXPECT_NE(message({-1}, 3).find("token -1"), std::string::npos);
  EXPECT_NE(message({0, 1, 2, 2}, 3).find("all 3 tokens"), std::string::npos);
}

}  // namespace
}  // namespace skein
