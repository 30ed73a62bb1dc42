#include "skein/generate/sampling.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <string>

#include "skein/core/error.h"

#include "support/expect_error.h"

namespace skein::generate {
namespace {

const std::vector<float> kLogits{1.0f, 3.0f, 2.0f, 3.0f, -1.0f};

Tensor as_row(const std::vector<float>& logits) {
  return Tensor::from(logits, {1, static_cast<int64_t>(logits.size())});
}

int32_t sample(const std::vector<float>& logits, const SamplingConfig& c, uint64_t prompt,
               int64_t position) {
  return sample(as_row(logits), static_cast<int64_t>(logits.size()), c, {{prompt, position}})
      .data<int32_t>()[0];
}

std::map<int32_t, double> shares(const SamplingConfig& c, int draws = 20000) {
  std::map<int32_t, double> found;
  for (int i = 0; i < draws; ++i) found[sample(kLogits, c, 1, i)] += 1.0 / draws;
  return found;
}

TEST(Sampling, GreedyTakesTheLikeliestAndTheLowerIdOfEquals) {
  SamplingConfig c;
  c.temperature = 0;
  EXPECT_EQ(sample(kLogits, c, 7, 9), 1);
  c.temperature = 1;
  c.top_k = 1;
  EXPECT_EQ(sample(kLogits, c, 7, 9), 1);
}

TEST(Sampling, DrawsFromTheSoftmax) {
  for (double temperature : {0.5, 1.0, 2.0}) {
    SamplingConfig c;
    c.temperature = temperature;
    double sum = 0;
    for (float logit : kLogits) sum += std::exp(logit / temperature);
    const auto found = shares(c);
    for (size_t i = 0; i < kLogits.size(); ++i) {
      const auto at = found.find(static_cast<int32_t>(i));
      EXPECT_NEAR(at == found.end() ? 0 : at->second, std::exp(kLogits[i] / temperature) / sum,
                  0.015)
          << temperature << " " << i;
    }
  }
}

TEST(Sampling, BansWhatNoAnswerHolds) {
  const auto tokenizer = text::byte_tokenizer();
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(banned_ids(*tokenizer, 257, 256, true), Ids{}) << "the end of an answer may come";
  EXPECT_EQ(banned_ids(*tokenizer, 257, 10, true), Ids{256});
  EXPECT_EQ(banned_ids(*tokenizer, 257, 10, false), Ids{});
  EXPECT_EQ(banned_ids(*tokenizer, 259, 10, true), (Ids{256, 257, 258}))
      << "ids of the model that the tokenizer does not know";
}

TEST(Sampling, BannedIdsLeaveTheirProbabilityToTheOthers) {
  for (const auto& [top_k, top_p] : {std::pair<int64_t, double>{0, 1}, {2, 1}, {0, 0.99}}) {
    SamplingConfig c;
    c.banned = {1, 4, 4};
    c.top_k = top_k;
    c.top_p = top_p;
    const bool all = top_k == 0;
    const double sum = std::exp(3.0) + std::exp(2.0) + (all ? std::exp(1.0) : 0);
    const auto found = shares(c);
    EXPECT_EQ(found.size(), all ? 3u : 2u);
    for (const auto& [id, share] : found)
      EXPECT_NEAR(share, std::exp(double{kLogits[static_cast<size_t>(id)]}) / sum, 0.015) << id;
  }
  SamplingConfig greedy;
  greedy.temperature = 0;
  greedy.banned = {1, 3};
  EXPECT_EQ(sample(kLogits, greedy, 0, 0), 2);
}

// The border between two ids is where exp puts it.
TEST(Sampling, SharesAreExponentialsToTheLastPlaces) {
  const Tensor ids = Tensor::empty({1}, DType::i32);
  for (double temperature : {0.37, 1.0, 2.5})
    for (float below = 0; below < 10; below += 0.173f) {
      const double border = 1 / (1 + std::exp(-double{below} / temperature));
      for (double beyond : {-3e-15, 3e-15}) {
        const Tensor uniform = Tensor::from(std::vector<double>{border + beyond}, {1});
        kernels::sample(Cpu{}, Tensor::from(std::vector<float>{0, -below}, {1, 2}), 2,
                        {temperature, 0, 1}, uniform, Out(ids));
        EXPECT_EQ(ids.data<int32_t>()[0], beyond > 0) << below << " " << temperature;
      }
    }
}

TEST(Sampling, DrawsAreFoundAmongManyIds) {
  const int64_t count = 5000;
  std::vector<float> logits(count);
  for (int64_t i = 0; i < count; ++i)
    logits[static_cast<size_t>(i)] = static_cast<float>(i % 97) / 40;
  double total = 0;
  for (float logit : logits) total += std::exp(double{logit});
  const Tensor row = Tensor::from(logits, {1, count}), ids = Tensor::empty({1}, DType::i32);
  double before = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double share = std::exp(double{logits[static_cast<size_t>(i)]});
    if (i % 73 == 0 || i % 1024 < 2 || i % 1024 == 1023) {
      kernels::sample(Cpu{}, row, count, {},
                      Tensor::from(std::vector<double>{(before + share / 2) / total}, {1}),
                      Out(ids));
      EXPECT_EQ(ids.data<int32_t>()[0], i);
    }
    before += share;
  }
}

TEST(Sampling, NothingImpossibleIsDrawnAtTheVeryEnd) {
  const Tensor logits = Tensor::from(
      std::vector<float>{0, 0.3f, 0.1f, -std::numeric_limits<float>::infinity()}, {1, 4});
  const Tensor ids = Tensor::empty({1}, DType::i32);
  for (double uniform : {0.0, 0.5, std::nextafter(1.0, 0.0), 1.0}) {
    kernels::sample(Cpu{}, logits, 4, {}, Tensor::from(std::vector<double>{uniform}, {1}),
                    Out(ids));
    EXPECT_LT(ids.data<int32_t>()[0], 3) << uniform;
  }
}

TEST(Sampling, TopKKeepsTheLikeliest) {
  SamplingConfig c;
  c.top_k = 3;
  const auto found = shares(c, 2000);
  EXPECT_EQ(found.size(), 3u);
  EXPECT_TRUE(found.contains(1) && found.contains(2) && found.contains(3));
}

TEST(Sampling, TopPKeepsTheSmallestSetThatReachesIt) {
  SamplingConfig c;
  c.top_p = 0.79;  // the likeliest two have 0.397 each
  EXPECT_EQ(shares(c, 2000).size(), 2u);
  c.top_p = 0.39;
  EXPECT_EQ(shares(c, 2000).size(), 1u);
  c.top_p = 0.8;
  EXPECT_EQ(shares(c, 2000).size(), 3u);
}

TEST(Sampling, IsAFunctionOfSeedPromptAndPosition) {
  SamplingConfig c;
  c.temperature = 5;
  const auto series = [&](uint64_t seed, uint64_t prompt) {
    c.seed = seed;
    std::vector<int32_t> ids;
    for (int i = 0; i < 50; ++i) ids.push_back(sample(kLogits, c, prompt, i));
    return ids;
  };
  EXPECT_EQ(series(1, 1), series(1, 1));
  EXPECT_NE(series(1, 1), series(2, 1));
  EXPECT_NE(series(1, 1), series(1, 2));
}

TEST(Sampling, RowsAreDrawnApart) {
  SamplingConfig c;
  c.temperature = 5;
  std::vector<float> two = kLogits;
  for (float logit : kLogits) two.push_back(-logit);
  for (int64_t position = 0; position < 20; ++position) {
    const Tensor ids = sample(Tensor::from(two, {2, 5}), 4, c, {{3, position}, {9, position + 1}});
    EXPECT_EQ(ids.data<int32_t>()[0], sample({two.begin(), two.begin() + 4}, c, 3, position));
    EXPECT_EQ(ids.data<int32_t>()[1],
              sample({two.begin() + 5, two.begin() + 9}, c, 9, position + 1));
  }
  EXPECT_THROW(sample(Tensor::from(two, {2, 5}), 5, c, {{0, 0}}), Error);
}

std::string refusal(float logit, int64_t position = 0, const std::vector<int64_t>& banned = {}) {
  std::vector<float> logits = kLogits;
  logits[2] = logit;
  SamplingConfig c;
  c.banned = banned;
  return test::error_text(ExitCode::failure, [&] { sample(logits, c, 0, position); });
}

TEST(Sampling, RefusesLogitsThatAreNoNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(refusal(kNaN).find("the logit of token 2 is not a number"), std::string::npos);
  EXPECT_NE(refusal(kInfinity).find("the largest logit is inf"), std::string::npos);
  EXPECT_EQ(refusal(-kInfinity), "");
  EXPECT_EQ(refusal(kNaN, -1), "");
  EXPECT_THROW(sample(std::vector<float>(5, -kInfinity), {}, 0, 0), Error);
  EXPECT_NE(refusal(kNaN, 0, {2}).find("the logit of token 2 is not a number"), std::string::npos)
      << "a ban hides no damage";
  EXPECT_NE(refusal(1, 0, {0, 1, 2, 3, 4}).find("the largest logit is -inf"), std::string::npos);
}

TEST(Sampling, RefusesOptionsOutOfRange) {
  for (const SamplingConfig& c : {SamplingConfig{{-1, 0, 1}}, SamplingConfig{{1, -1, 1}},
                                  SamplingConfig{{1, 0, 0}}, SamplingConfig{{1, 0, 1.5}}})
    EXPECT_THROW(check(c), Error);
}

}  // namespace
}  // namespace skein::generate
