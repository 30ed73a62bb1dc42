// Beam search with models: as without a cache, and the same whatever the batch and the layout.
#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>

#include "skein/kernels/threads.h"
#include "skein/models/gpt/gpt.h"

#include "generate/generator_fixture.h"

namespace skein::generate {
namespace {

using test::kPrompts;
using test::Layout;
using test::many_prompts;
using test::model;
using test::Small;

using Found = std::vector<std::vector<Continuation>>;

// An id among twelve ends an answer, so that prompts end at different steps.
Layout beams(int64_t size, int64_t batch = 3) {
  Layout made;
  made.batch = batch;
  made.end = 11;
  made.vocabulary = 12;
  made.beam.size = made.beam.best = size;
  made.beam.no_repeat_ngram = 2;
  made.beam.early_stop = EarlyStop::never;
  return made;
}

Found searched(const ModelConfig& config, const Layout& setup,
               const std::vector<Tokens>& prompts = kPrompts) {
  Found result;
  test::with_generator(config, setup, [&](Generator& generator, Group& world) {
    const Found own = generator.search(prompts);
    EXPECT_EQ(own.size(), prompts.size());
    if (world.rank() == world.size() - 1) result = own;
  });
  return result;
}

// The whole sequences of all beams, run without a cache.
class WithoutCache {
 public:
  explicit WithoutCache(const ModelConfig& config) : config_(config) {
    parameters_.allocate(false);
    parameters_.initialize(3);
  }

  std::vector<Continuation> searched(const BeamConfig& beam, const Tokens& prompt, int64_t most,
                                     int32_t end, int64_t vocabulary) const {
    BeamSearch search(beam, prompt, most, end);
    while (!search.finished()) {
      std::vector<Candidate> candidates;
      for (size_t number = 0; number < search.beams().size(); ++number) {
        const std::vector<int32_t> banned = search.next(number).banned;
        const std::vector<float> all = log_probabilities(prompt, search.beams()[number].tokens);
        for (int32_t id = 0; id < vocabulary; ++id)
          if (std::find(banned.begin(), banned.end(), id) == banned.end())
            candidates.push_back({static_cast<int64_t>(number), id, all[static_cast<size_t>(id)]});
      }
      search.advance(candidates);
    }
    return search.best();
  }

 private:
  std::vector<float> log_probabilities(Tokens tokens, const Tokens& own) const {
    tokens.insert(tokens.end(), own.begin(), own.end());
    const auto length = std::ssize(tokens);
    data::Batch batch;
    batch.tokens = Tensor::from(tokens, {1, length});
    batch.positions = Tensor::zeros({1, length}, DType::i32);
    for (int64_t i = 0; i < length; ++i)
      batch.positions.data<int32_t>()[i] = static_cast<int32_t>(i);
    Pass pass;
    pass.tp = alone_.get();
    pass.batch = &batch;
    const NoGrad no_grad;
    const Tensor logits = gpt_.logits(gpt_.forward({}, pass).only().value());
    const float* last = logits.data<float>() + (length - 1) * config_.vocab_size;
    double sum = 0;
    for (int64_t id = 0; id < config_.vocab_size; ++id) sum += std::exp(double{last[id]});
    std::vector<float> made;
    for (int64_t id = 0; id < config_.vocab_size; ++id)
      made.push_back(static_cast<float>(last[id] - std::log(sum)));
    return made;
  }

  ModelConfig config_;
  std::unique_ptr<Group> alone_ = single_rank();
  Parameters parameters_{DType::f32, 0, 1};
  Gpt gpt_{config_, {0, 4, true, true, 0}, false, parameters_};
};

void expect_alike(const std::vector<Continuation>& found,
                  const std::vector<Continuation>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].tokens, expected[i].tokens) << i;
    EXPECT_EQ(found[i].ended, expected[i].ended) << i;
    EXPECT_NEAR(found[i].score, expected[i].score, 1e-5) << i;
  }
}

class Searches : public testing::TestWithParam<bool> {};

void expect_same_without_cache(const ModelConfig& config) {
  const WithoutCache reference(config);
  for (const EarlyStop rule : {EarlyStop::at_once, EarlyStop::never}) {
    Layout setup = beams(3);
    setup.beam.early_stop = rule;
    setup.beam.min_tokens = 2;
    const Found found = searched(config, setup);
    for (size_t i = 0; i < kPrompts.size(); ++i) {
      const Tokens prompt = kPrompts[i].empty() ? Tokens{setup.end} : kPrompts[i];
      expect_alike(found[i], reference.searched(setup.beam, prompt, 24, setup.end, 12));
    }
  }
}

TEST_P(Searches, WithACacheAreTheSameAsWithout) { expect_same_without_cache(model(GetParam())); }

// Beams that follow others have columns that were let go.
TEST_P(Searches, OfWindowsAreTheSameAsWithoutACache) {
  ModelConfig config = model(GetParam());
  config.attention = windowed(4);
  expect_same_without_cache(config);
}

TEST_P(Searches, DoNotDependOnBatchOrLayout) {
  const ModelConfig config = model(GetParam());
  const auto prompts = many_prompts(9);
  const Found expected = searched(config, beams(3, 1), prompts);
  size_t ended = 0, longest = 0;
  for (const auto& all : expected)
    for (const Continuation& one : all) {
      ended += one.ended;
      longest = std::max(longest, one.tokens.size());
    }
  EXPECT_GT(ended, prompts.size());
  EXPECT_GT(longest, 10u);
  for (int64_t batch : {2, 5, 1000})
    EXPECT_EQ(searched(config, beams(3, batch), prompts), expected) << batch;
  for (const auto& [pipeline, chunks, ranks] :
       {std::array{1, 1, 3}, {2, 1, 2}, {4, 1, 4}, {2, 2, 4}}) {
    Layout setup = beams(3, 4);
    setup.pipeline = pipeline;
    setup.chunks = chunks;
    setup.ranks = ranks;
    EXPECT_EQ(searched(config, setup, prompts), expected) << pipeline << chunks << ranks;
  }
  kernels::set_threads(3);
  EXPECT_EQ(searched(config, beams(3, 4), prompts), expected) << "threads";
  kernels::set_threads(1);
}

// Each shard finds its own candidates.
TEST_P(Searches, OverTensorShardsFindTheSame) {
  const ModelConfig config = model(GetParam());
  for (int64_t vocabulary : {12, 0}) {
    Layout setup = beams(4);
    setup.vocabulary = vocabulary;
    setup.banned = {3, 40};
    const Found expected = searched(config, setup);
    for (const auto& [pipeline, tensor, ranks] : {std::array{1, 2, 2}, {2, 2, 4}}) {
      setup.pipeline = pipeline;
      setup.tensor = tensor;
      setup.ranks = ranks;
      const Found found = searched(config, setup);
      for (size_t i = 0; i < found.size(); ++i) expect_alike(found[i], expected[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Searches, testing::Bool(),
                         [](const auto& info) { return info.param ? "llama" : "gpt"; });

TEST(Beams, OneIsGreedy) {
  Layout greedy = beams(1);
  greedy.beam = {};
  greedy.temperature = 0;
  const auto expected = test::generated(model(true), greedy);
  Layout setup = beams(1);
  setup.beam.no_repeat_ngram = 0;
  const Found found = searched(model(true), setup);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].at(0).tokens, expected[i].tokens) << i;
    EXPECT_EQ(found[i].at(0).ended, expected[i].ended) << i;
  }
}

TEST(Beams, AreForcedAndBannedAsAskedFor) {
  Layout setup = beams(3);
  setup.beam.first_token = 7;
  setup.beam.last_token = 2;
  setup.beam.min_tokens = 3;
  setup.banned = {4, 5};
  const Found found = searched(model(false), setup);
  bool full = false;
  for (const auto& all : found)
    for (const Continuation& one : all) {
      ASSERT_GE(one.tokens.size(), 3u);
      EXPECT_EQ(one.tokens.front(), 7);
      for (size_t i = 1; i < one.tokens.size(); ++i) {
        EXPECT_TRUE(one.tokens[i] != 4 && one.tokens[i] != 5 && one.tokens[i] < 12);
      }
      if (one.tokens.size() < 24) continue;
      full = true;
      EXPECT_EQ(one.tokens.back(), 2);
    }
  EXPECT_TRUE(full);
}

TEST(Beams, GiveTheBestThatAreAskedFor) {
  Layout all = beams(4), one = beams(4);
  one.beam.best = 1;
  const Found many = searched(model(false), all), best = searched(model(false), one);
  for (size_t i = 0; i < many.size(); ++i) {
    ASSERT_EQ(many[i].size(), 4u);
    ASSERT_EQ(best[i].size(), 1u);
    EXPECT_EQ(best[i][0], many[i][0]);
    for (size_t k = 1; k < 4; ++k) EXPECT_GE(many[i][k - 1].score, many[i][k].score);
    for (size_t k = 1; k < 4; ++k) EXPECT_NE(many[i][k - 1].tokens, many[i][k].tokens);
  }
}

TEST(Beams, GoOnWhenTheCacheIsFullAndUntilTheContextIs) {
  ModelConfig config = model(true);
  config.context = 100;
  Layout setup = beams(2);
  setup.vocabulary = 0;
  setup.end = -1;
  setup.tokens = 70;
  setup.beam.no_repeat_ngram = 0;
  const Found found = searched(config, setup, {{1, 2, 3}, Tokens(90, 5)});
  expect_alike(found[0], WithoutCache(config).searched(setup.beam, {1, 2, 3}, 70, -1, 67));
  for (const Continuation& one : found[1]) {
    EXPECT_EQ(one.tokens.size(), 10u);
    EXPECT_FALSE(one.ended);
  }
}

TEST(Beams, FeedTheirPromptsOnceAndFewRowsOfFinishedOnes) {
  const auto prompts = many_prompts(30);
  test::with_generator(model(false), beams(4, 8), [&](Generator& generator, Group&) {
    generator.search(prompts);
    const DecodingWork& work = generator.work();
    EXPECT_LE(work.prompts, std::ssize(prompts));
    EXPECT_LE((work.rows - work.live) * 4, work.rows);
    EXPECT_GT(work.rows, work.steps * 16);
    EXPECT_LE(work.rows, work.steps * 32);
  });
}

TEST(Beams, ThatLeaveNoRoomAreRefused) {
  const auto message = [](const BeamConfig& beam, int64_t vocabulary) {
    GenerateConfig options;
    options.beam = beam;
    try {
      Small(options, vocabulary);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  BeamConfig beam;
  beam.size = 12;
  EXPECT_EQ(message(beam, 12), "no error");
  EXPECT_EQ(message(beam, 11), "beam.size=12 is more than the 11 tokens that may come");
  beam.first_token = 20;
  EXPECT_EQ(message(beam, 12), "beam.first_token=20 is outside of the vocabulary of 12");
}

TEST(OnGpu, FindsTheAnswersOfTheCpu) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
  for (const auto& [pipeline, tensor] : {std::array{1, 1}, {2, 2}}) {
    Layout setup = beams(3);
    setup.banned = {3, 5};
    const Found expected = searched(model(true), setup, many_prompts(3));
    setup.device = DeviceKind::cuda;
    setup.pipeline = pipeline;
    setup.tensor = tensor;
    setup.ranks = pipeline * tensor;
    const Found found = searched(model(true), setup, many_prompts(3));
    for (size_t i = 0; i < found.size(); ++i) expect_alike(found[i], expected[i]);
  }
}

}  // namespace
}  // namespace skein::generate
