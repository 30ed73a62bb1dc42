#include "skein/generate/generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "skein/comm/local.h"
#include "skein/models/gpt/gpt.h"
#include "skein/tensor/cuda.h"

#include "generate/generator_fixture.h"

namespace skein::generate {
namespace {

using test::brief;
using test::generated;
using test::kPrompts;
using test::Layout;
using test::many_prompts;
using test::model;
using test::Small;
using test::with_generator;

// Of the last position of the whole sequence, run without a cache.
std::vector<float> last_logits(const ModelConfig& config, const Gpt& gpt, const Tokens& sequence,
                               Group& alone) {
  const auto length = static_cast<int64_t>(sequence.size());
  data::Batch batch;
  batch.tokens = Tensor::from(sequence, {1, length});
  batch.positions = Tensor::zeros({1, length}, DType::i32);
  for (int64_t i = 0; i < length; ++i) batch.positions.data<int32_t>()[i] = static_cast<int32_t>(i);
  Pass pass;
  pass.tp = &alone;
  pass.batch = &batch;
  const NoGrad no_grad;
  const Tensor logits = gpt.logits(gpt.forward({}, pass).only().value());
  const float* last = logits.data<float>() + (length - 1) * config.vocab_size;
  return {last, last + config.vocab_size};
}

int32_t next_without_cache(const ModelConfig& config, const Gpt& gpt, const Tokens& sequence,
                           Group& alone) {
  const std::vector<float> last = last_logits(config, gpt, sequence, alone);
  return static_cast<int32_t>(std::ranges::max_element(last) - last.begin());
}

std::vector<double> last_log_softmax(const ModelConfig& config, const Gpt& gpt,
                                     const Tokens& sequence, Group& alone) {
  const std::vector<float> last = last_logits(config, gpt, sequence, alone);
  double sum = 0;
  for (float logit : last) sum += std::exp(double{logit});
  std::vector<double> made;
  for (float logit : last) made.push_back(logit - std::log(sum));
  return made;
}

class Generation : public testing::TestWithParam<bool> {};

void expect_same_without_cache(const ModelConfig& config, const Layout& greedy,
                               const std::vector<Tokens>& prompts = kPrompts) {
  const auto found = generated(config, greedy, prompts);
  const auto alone = single_rank();
  Parameters parameters(DType::f32, 0, 1);
  const Gpt gpt(config, {0, 4, true, true, 0}, false, parameters);
  parameters.allocate(false);
  parameters.initialize(3);
  for (size_t i = 0; i < prompts.size(); ++i) {
    Tokens sequence = prompts[i].empty() ? Tokens{66} : prompts[i];
    const size_t begin = sequence.size();
    Continuation expected;
    while (!expected.ended && std::ssize(sequence) - static_cast<int64_t>(begin) < greedy.tokens) {
      const int32_t next = next_without_cache(config, gpt, sequence, *alone);
      expected.ended = next == greedy.end;
      if (!expected.ended) sequence.push_back(next);
    }
    expected.tokens.assign(sequence.begin() + static_cast<int64_t>(begin), sequence.end());
    EXPECT_EQ(found[i], expected) << i;
  }
}

TEST_P(Generation, WithACacheIsTheSameAsWithout) {
  Layout greedy;
  greedy.temperature = 0;
  expect_same_without_cache(model(GetParam()), greedy);
}

TEST_P(Generation, OfOtherLayoutsIsTheSameAsWithoutACache) {
  Layout greedy;
  greedy.temperature = 0;
  ModelConfig normed = model(GetParam()), parallel = model(GetParam()), sandwich = normed;
  sandwich.norm = ops::Norm::rms_zero_centered;
  sandwich.norm_placement = NormPlacement::sandwich;
  sandwich.qk_norm = sandwich.scale_embeddings = true;
  sandwich.score_width = 5;
  sandwich.attention.kinds = {"window", "full"};
  sandwich.attention.windows = {4};
  normed.qk_norm = true;
  normed.attention_out_bias = false;
  parallel.parallel_blocks = true;
  if (GetParam()) {
    normed.rope_scaling = RopeScaling::yarn;
    normed.rope_factor = 4;
    normed.rope_context = 16;
    parallel.rope_width = 4;
    sandwich.rope_window_theta = 50;
  }
  for (const ModelConfig& config : {normed, parallel, sandwich}) {
    expect_same_without_cache(config, greedy);
    Layout setup;
    const auto expected = generated(config, setup);
    setup.tensor = setup.ranks = 2;
    EXPECT_EQ(generated(config, setup), expected);
  }
}

// Windows of several widths, and one beside layers that see all.
ModelConfig windows(bool rotary, bool all) {
  ModelConfig made = model(rotary);
  made.context = 400;
  made.attention = windowed(4);
  made.attention.windows = {1, 4, 9};
  if (!all) made.attention.kinds = {"window", "full"};
  return made;
}

TEST_P(Generation, OfWindowsIsTheSameAsWithoutACache) {
  for (const bool all : {false, true}) {
    Layout greedy;
    greedy.temperature = 0;
    greedy.tokens = 150;
    greedy.end = -1;
    expect_same_without_cache(windows(GetParam(), all), greedy, {{1, 2, 3}, {5}, kPrompts[2]});
  }
}

TEST_P(Generation, OfWindowsDoesNotGrowItsCache) {
  const auto held = [&](bool all, int64_t tokens) {
    Layout setup;
    setup.tokens = tokens;
    setup.end = -1;
    int64_t bytes = 0;
    test::with_generator(windows(GetParam(), all), setup, [&](Generator& generator, Group&) {
      generator.run({kPrompts[2]});
      bytes = generator.work().cache_bytes;
    });
    return bytes;
  };
  // What windows of 1, 4, 9 and 1 keep, and room for 64 tokens before rows move.
  const int64_t columns = 0 + 3 + 8 + 0 + 4 * 64, numbers = GetParam() ? 16 : 32;
  EXPECT_EQ(held(true, 300), held(true, 70));
  EXPECT_LE(held(true, 300), 2 * columns * numbers * int64_t{sizeof(float)});
  EXPECT_GT(held(false, 300), held(false, 70));
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

TEST(Generator, TakesAStartWhereSourcesAreMappedAlone) {
  GenerateConfig options;
  options.start = {1};
  try {
    Small small(options);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_STREQ(error.what(),
                 "generate.start is for models that map sources to targets, and this one continues "
                 "its prompts; leave it out");
  }
}

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

// By the logits of a pass over the whole sequence, whatever the layout.
TEST(LogProbabilities, AreThoseOfThePlainSoftmax) {
  const ModelConfig config = model(false);
  const auto alone = single_rank();
  Parameters parameters(DType::f32, 0, 1);
  const Gpt gpt(config, {0, 4, true, true, 0}, false, parameters);
  parameters.allocate(false);
  parameters.initialize(3);
  for (const Layout& layout : {Layout{}, Layout{.pipeline = 2, .tensor = 2, .ranks = 4}}) {
    std::vector<Continuation> found;
    with_generator(
        config, layout,
        [&](Generator& generator, Group& world) {
          const auto made = generator.run(kPrompts);
          if (world.rank() == world.size() - 1) found = made;
        },
        [](GenerateConfig& options) { options.log_probabilities = true; });
    ASSERT_EQ(found.size(), kPrompts.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].log_probabilities.size(), found[i].tokens.size());
      Tokens sequence = kPrompts[i].empty() ? Tokens{66} : kPrompts[i];
      for (size_t j = 0; j < found[i].tokens.size(); ++j) {
        const std::vector<double> wanted = last_log_softmax(config, gpt, sequence, *alone);
        EXPECT_NEAR(found[i].log_probabilities[j], wanted[found[i].tokens[j]], 1e-4);
        sequence.push_back(found[i].tokens[j]);
      }
    }
  }
}

TEST(Generation, EndsWhereItIsToldTo) {
  const ModelConfig config = model(false);
  for (const Layout& layout : {Layout{}, Layout{.pipeline = 2, .ranks = 4}}) {
    const auto whole = generated(config, layout);
    with_generator(
        config, layout,
        [&](Generator& generator, Group&) {
          const auto made = generator.run(kPrompts);
          for (size_t i = 0; i < made.size(); ++i) {
            const Tokens& all = whole[i].tokens;
            const auto third = static_cast<std::ptrdiff_t>(std::min<size_t>(all.size(), 3));
            EXPECT_EQ(made[i].tokens, Tokens(all.begin(), all.begin() + third));
            EXPECT_EQ(made[i].stopped, all.size() >= 3);
            EXPECT_EQ(made[i].ended, all.size() < 3 && whole[i].ended);
          }
        },
        [](GenerateConfig& options) {
          options.goes_on = [](const Tokens& answer) { return answer.size() < 3; };
        });
  }
}

}  // namespace
}  // namespace skein::generate
