// Decoding of models that read a source: rows, columns and memories are those of their sources,
// whatever is decoded beside them, wherever.
#include "generate/scripted_mapper.h"

namespace skein::generate {
namespace {

using test::MappedLayout;
using test::ScriptedMapper;
using test::with_mapper;

using Found = std::vector<std::vector<Continuation>>;

const Tokens kStart{5};

GenerateConfig configured(int64_t batch, int64_t beams = 0) {
  GenerateConfig made;
  made.batch = batch;
  made.max_tokens = 30;
  made.start = kStart;
  made.sampling.temperature = 0.5;
  made.beam.size = beams;
  made.beam.best = std::max<int64_t>(beams, 1);
  made.beam.early_stop = EarlyStop::never;
  return made;
}

// Of 1 to 20 tokens; every fourth stands there three times in a row.
std::vector<Tokens> some_sources(int count) {
  std::vector<Tokens> made;
  for (int i = 0; i < count; ++i) {
    Tokens source;
    for (int t = 0; t < 1 + i * 7 % 20; ++t) source.push_back((i * 11 + t * t) % 50);
    made.insert(made.end(), i % 4 == 0 ? 3 : 1, source);
  }
  return made;
}

// Beam search where each beam's source and tokens are told to the script at once.
std::vector<Continuation> by_hand(const GenerateConfig& config, const Tokens& source) {
  const AnswerBounds bounds{config.max_tokens, ScriptedMapper::kEnd, 61, {}};
  test::ScriptedModel model(bounds);
  BeamSearch search(config.beam, config.start, bounds.most, bounds.end);
  while (!search.finished())
    search.advance(model.candidates(search, test::scripted_tokens(source, config.start),
                                    2 * config.beam.size));
  return search.best();
}

void expect_alike(const std::vector<Continuation>& found, const std::vector<Continuation>& expected,
                  size_t source) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].tokens, expected[i].tokens) << source << ", answer " << i;
    EXPECT_EQ(found[i].ended, expected[i].ended) << source << ", answer " << i;
    EXPECT_NEAR(found[i].score, expected[i].score, 1e-5) << source << ", answer " << i;
  }
}

std::vector<Continuation> drawn(const GenerateConfig& config, const MappedLayout& layout,
                                const std::vector<Tokens>& sources) {
  std::vector<Continuation> made;
  with_mapper(config, layout, [&](Generator& generator, Group& world) {
    const auto own = generator.run(sources);
    if (world.rank() == world.size() - 1) made = own;
  });
  return made;
}

Found searched(const GenerateConfig& config, const MappedLayout& layout,
               const std::vector<Tokens>& sources) {
  Found made;
  with_mapper(config, layout, [&](Generator& generator, Group& world) {
    const auto own = generator.search(sources);
    if (world.rank() == world.size() - 1) made = own;
  });
  return made;
}

// A boundary between the halves, inside of either, and pieces of one half alone.
const std::vector<MappedLayout> kLayouts{
    {2, 1, 1, {}},     {3, 1, 1, {}},          {2, 2, 1, {3, 3}},       {2, 2, 1, {1, 5}},
    {2, 2, 1, {5, 1}}, {3, 3, 1, {2, 2, 2}},   {4, 2, 2, {1, 2, 1, 2}}, {6, 6, 1, {}},
    {1, 1, 3, {}},     {4, 4, 1, {1, 1, 1, 3}}};

TEST(Sources, AreAnsweredAsTheScriptSays) {
  const auto sources = some_sources(30);
  for (int64_t beams : {1, 2, 5}) {
    GenerateConfig config = configured(7, beams);
    config.beam.no_repeat_ngram = 2;
    config.beam.min_tokens = 3;
    const Found found = searched(config, {}, sources);
    for (size_t i = 0; i < sources.size(); ++i)
      expect_alike(found[i], by_hand(config, sources[i]), i);
  }
}

TEST(Sources, HaveGreedyAnswersThatAreThoseOfOneBeam) {
  const auto sources = some_sources(20);
  GenerateConfig greedy = configured(6);
  greedy.sampling.temperature = 0;
  const auto found = drawn(greedy, {}, sources);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Continuation expected = by_hand(configured(1, 1), sources[i]).front();
    EXPECT_EQ(found[i].tokens, expected.tokens) << i;
    EXPECT_EQ(found[i].ended, expected.ended) << i;
  }
}

// More than one token is fed first, the cache runs full, and the context ends answers.
TEST(Sources, AreAnsweredBehindTheStart) {
  GenerateConfig config = configured(3, 3);
  config.start = {7, 8, 9};
  config.max_tokens = 1000;
  config.stop_at_end = false;
  const auto sources = some_sources(5);
  const Found found = searched(config, {}, sources);
  for (const auto& all : found)
    for (const Continuation& one : all) EXPECT_EQ(one.tokens.size(), 197u);
  config.stop_at_end = true;
  config.max_tokens = 197;
  const Found other = searched(config, {}, sources);
  for (size_t i = 0; i < sources.size(); ++i)
    expect_alike(other[i], by_hand(config, sources[i]), i);
}

// The start is among the tokens of which no n-gram comes twice, the source is not.
TEST(Sources, MayBeRepeated) {
  GenerateConfig config = configured(2, 2);
  config.beam.no_repeat_ngram = 1;
  std::vector<Tokens> sources;
  Tokens all(50);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
  sources.emplace_back(all.begin(), all.begin() + 20);
  bool repeated = false;
  const Found found = searched(config, {}, sources);
  for (const Continuation& one : found.front())
    for (int32_t id : one.tokens) {
      EXPECT_NE(id, kStart.front());
      repeated |= id < 20;
    }
  EXPECT_TRUE(repeated);
}

TEST(Sources, HaveTheSameDrawsAtAnyBatchAndLayout) {
  const auto sources = some_sources(30);
  const auto expected = drawn(configured(1), {}, sources);
  size_t ended = 0, cut = 0;
  for (const Continuation& one : expected) ++(one.ended ? ended : cut);
  EXPECT_GT(ended, 5u);
  EXPECT_NE(expected[0], expected[1]) << "equal sources have different draws";
  for (int64_t batch : {2, 7, 1000})
    EXPECT_EQ(drawn(configured(batch), {}, sources), expected) << batch;
  for (const MappedLayout& layout : kLayouts)
    EXPECT_EQ(drawn(configured(5), layout, sources), expected)
        << layout.ranks << layout.pipeline << layout.chunks;
}

TEST(Sources, HaveTheSameBeamsAtAnyBatchAndLayout) {
  const auto sources = some_sources(16);
  const Found expected = searched(configured(1, 4), {}, sources);
  for (int64_t batch : {2, 7, 1000})
    EXPECT_EQ(searched(configured(batch, 4), {}, sources), expected) << batch;
  for (const MappedLayout& layout : kLayouts)
    EXPECT_EQ(searched(configured(5, 4), layout, sources), expected)
        << layout.ranks << layout.pipeline << layout.chunks;
}

TEST(Sources, AreHeldOnceForAllTheirBeams) {
  const auto sources = some_sources(30);
  ScriptedMapper::most_memories = ScriptedMapper::rows_beside = 0;
  with_mapper(configured(6, 4), {}, [&](Generator& generator, Group&) {
    generator.search(sources);
    EXPECT_LE(generator.work().prompts, std::ssize(sources));
    EXPECT_LE((generator.work().rows - generator.work().live) * 4, generator.work().rows);
  });
  EXPECT_EQ(ScriptedMapper::most_memories, 6);
  EXPECT_EQ(ScriptedMapper::rows_beside, 24);
}

std::string refusal(const GenerateConfig& config, const std::vector<Tokens>& sources) {
  std::string message = "no error";
  with_mapper(config, {}, [&](Generator& generator, Group&) {
    try {
      generator.run(sources);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      message = error.what();
    }
  });
  return message;
}

TEST(Sources, ThatCannotBeReadAreRefused) {
  EXPECT_EQ(refusal(configured(2), {Tokens(20, 49)}), "no error");
  EXPECT_EQ(refusal(configured(2), {{1}, Tokens(21, 1)}),
            "prompt 2 has 21 tokens, more than the 20 places of the model's source; shorten it");
  EXPECT_EQ(refusal(configured(2), {{1}, {3, 50}}),
            "prompt 2 holds token 50, outside of the source's vocabulary of 50");
  EXPECT_EQ(refusal(configured(2), {{1}, {2}, {}}),
            "prompt 3 is empty, and this model needs a source to read");
}

TEST(Sources, NeedAStartThatFits) {
  const auto message = [](const Tokens& start) {
    GenerateConfig config = configured(2);
    config.start = start;
    try {
      with_mapper(config, {}, [](Generator&, Group&) {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message({60}), "no error");
  EXPECT_NE(message({}).find("name it in generate.start"), std::string::npos);
  EXPECT_EQ(message({61}), "generate.start holds token 61, outside of the vocabulary of 61");
  EXPECT_EQ(message(Tokens(200, 1)),
            "generate.start has 200 tokens, which leave no room in the model's context of 200");
}

}  // namespace
}  // namespace skein::generate
