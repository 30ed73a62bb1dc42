#include "skein/generate/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "skein/core/error.h"

namespace skein {
namespace {

const std::vector<float> kLogits{1.0f, 3.0f, 2.0f, 3.0f, -1.0f};

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
      EXPECT_NEAR(at == found.end() ? 0 : at->second, std::exp(kLogits[i] / temperature) / sum, 0.015) << temperature << " " << i;
    }
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

TEST(Sampling, RefusesNaNAndOptionsOutOfRange) {
  std::vector<float> broken = kLogits;
  broken[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(sample(broken, {}, 0, 0), Error);
  for (const SamplingConfig& c : {SamplingConfig{-1, 0, 1, 1}, SamplingConfig{1, -1, 1, 1}, SamplingConfig{1, 0, 0, 1}, SamplingConfig{1, 0, 1.5, 1}})
    EXPECT_THROW(check(c), Error);
}

}  // namespace
}  // namespace skein
