// Sequences that end, and others that take their rows.
#include <gtest/gtest.h>
#include <set>

#include "skein/comm/local.h"
#include "skein/generate/generator.h"
#include "skein/models/gpt/gpt.h"
#include "skein/tensor/cuda.h"

#include "generate/generator_fixture.h"

namespace skein::generate {
namespace {

using test::brief;
using test::generated;
using test::Layout;
using test::many_prompts;
using test::model;
using test::Small;
using test::with_generator;

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
}  // namespace skein::generate
