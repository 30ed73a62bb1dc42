#include "skein/data/samples/order.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace skein::data {
namespace {

std::vector<int64_t> whole_epoch(uint64_t seed, int64_t epoch, int64_t size) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < size; ++i) order.push_back(permuted(seed, epoch, size, i));
  return order;
}

bool equal(const SampleIndex& left, const SampleIndex& right) {
  return left.dataset == right.dataset && left.sample == right.sample && left.epoch == right.epoch;
}

void expect_bijection(uint64_t seed, int64_t epoch, int64_t size) {
  const std::vector<int64_t> order = whole_epoch(seed, epoch, size);
  const std::set<int64_t> seen(order.begin(), order.end());
  EXPECT_EQ(static_cast<int64_t>(seen.size()), size) << "epoch " << epoch;
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), size - 1);
}

TEST(Permuted, IsABijectionForEverySize) {
  for (int64_t size = 1; size <= 70; ++size)
    for (const int64_t epoch : {0, 1, 9}) expect_bijection(5, epoch, size);
  for (const int64_t size : {255, 256, 257, 1000, 4095, 4097, 65537}) expect_bijection(7, 2, size);
}

TEST(Permuted, DiffersByEpochAndSeed) {
  const auto base = whole_epoch(1, 0, 1000);
  EXPECT_EQ(base, whole_epoch(1, 0, 1000));
  EXPECT_NE(base, whole_epoch(1, 1, 1000));
  EXPECT_NE(base, whole_epoch(2, 0, 1000));
  EXPECT_NE(base, whole_epoch(1, int64_t{1} << 32, 1000));
}

TEST(Permuted, SpreadsTheFirstSampleEvenly) {
  std::vector<int> hits(10, 0);
  for (uint64_t seed = 0; seed < 2000; ++seed)
    ++hits[static_cast<size_t>(permuted(seed, 0, 10, 0))];
  for (const int count : hits) EXPECT_NEAR(count, 200, 80);
}

TEST(Permuted, StaysInsideHugeSizes) {
  const int64_t size = (int64_t{1} << 62) + 12345;
  for (int64_t i = 0; i < 50; ++i) {
    const int64_t found = permuted(3, 0, size, size - 1 - i);
    EXPECT_GE(found, 0);
    EXPECT_LT(found, size);
  }
}

TEST(SampleOrder, OneStoreIsGoneThroughOnceAnEpoch) {
  const SampleOrder order({5}, {2.0}, 11);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    std::set<int64_t> seen;
    for (int64_t i = 0; i < 5; ++i) {
      const SampleIndex found = order.at(epoch * 5 + i);
      EXPECT_EQ(found.epoch, epoch);
      EXPECT_EQ(found.sample, permuted(11, epoch, 5, i));
      seen.insert(found.sample);
    }
    EXPECT_EQ(seen.size(), 5u);
  }
}

TEST(SampleOrder, WithoutShufflingTheOrderIsNatural) {
  const SampleOrder order({4}, {1.0}, 11, OrderKind::blended);
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(order.at(i).sample, i % 4);
}

TEST(SampleOrder, OnceIsOneStoreAfterTheOtherWhateverTheWeights) {
  const SampleOrder order({2, 1, 3}, {1.0, 5.0, 1.0}, 11, OrderKind::once);
  const std::vector<std::pair<int, int64_t>> expected{{0, 0}, {0, 1}, {1, 0},
                                                      {2, 0}, {2, 1}, {2, 2}};
  for (int64_t i = 0; i < 12; ++i) {
    const SampleIndex found = order.at(i);
    EXPECT_EQ(std::pair(found.dataset, found.sample), expected[i % 6]) << i;
    EXPECT_EQ(found.epoch, i / 6);
  }
}

TEST(SampleOrder, BlendTakesTheStoreThatIsOwedMostAndTheLowestOnTies) {
  const SampleOrder order({100, 100}, {3.0, 1.0}, 0);
  const std::vector<int> expected{0, 0, 1, 0, 0, 0, 1, 0};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(order.at(static_cast<int64_t>(i)).dataset, expected[i]) << i;
  const SampleOrder even({7, 7, 7}, {1.0, 1.0, 1.0}, 0);
  for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(even.at(i).dataset, i % 3) << i;
}

TEST(SampleOrder, BlendCountsFollowTheWeights) {
  const std::vector<double> weights{50, 30, 19.5, 0.5};
  const SampleOrder order({1000, 10, 77, 3}, weights, 4);
  std::vector<double> counts(4, 0);
  for (int64_t i = 0; i < 20000; ++i) {
    counts[static_cast<size_t>(order.at(i).dataset)] += 1;
    if ((i + 1) % 1000 != 0) continue;
    for (size_t k = 0; k < 4; ++k)
      EXPECT_LE(std::abs(counts[k] - weights[k] / 100 * static_cast<double>(i + 1)), 3.0)
          << k << " at " << i;
  }
}

TEST(SampleOrder, EachBlendedStoreKeepsItsOwnEpochs) {
  const SampleOrder order({3, 50}, {1.0, 1.0}, 4);
  std::vector<std::set<int64_t>> seen(10);
  for (int64_t i = 0; i < 60; ++i) {
    const SampleIndex found = order.at(i);
    if (found.dataset == 0) seen[static_cast<size_t>(found.epoch)].insert(found.sample);
  }
  for (const auto& epoch : seen) EXPECT_EQ(epoch.size(), 3u);
}

TEST(SampleOrder, CountsWhatWasSeenBefore) {
  const SampleOrder one({10}, {1.0}, 4);
  EXPECT_EQ(one.seen_again(10), 0);
  EXPECT_EQ(one.seen_again(25), 15);
  const SampleOrder blend({3, 50}, {1.0, 3.0}, 4);
  std::set<std::pair<int, int64_t>> indices;
  for (int64_t i = 0; i < 40; ++i) indices.emplace(blend.at(i).dataset, blend.at(i).sample);
  EXPECT_EQ(blend.seen_again(40), static_cast<double>(40 - indices.size()));
}

TEST(SampleOrder, AnyIndexInAnyOrderGivesTheSameSample) {
  const std::vector<int64_t> sizes{1000, 333, 12};
  const std::vector<double> weights{0.7, 0.2, 0.1};
  const SampleOrder straight(sizes, weights, 99);
  std::vector<SampleIndex> samples;
  for (int64_t i = 0; i < 200000; ++i) samples.push_back(straight.at(i));

  const SampleOrder jumping(sizes, weights, 99);
  const std::vector<int64_t> jumps{131073, 5,      0,     65535, 65536,  65537, 199999, 131071,
                                   131072, 140000, 70000, 1,     196608, 3,     196607, 199998};
  for (const int64_t i : jumps)
    EXPECT_TRUE(equal(jumping.at(i), samples[static_cast<size_t>(i)])) << i;
  for (const int64_t i : jumps)
    EXPECT_TRUE(equal(straight.at(i), samples[static_cast<size_t>(i)])) << i;
}

TEST(SampleOrder, WeightsOnlyCountInProportion) {
  const SampleOrder small({9, 9}, {0.25, 0.75}, 1), large({9, 9}, {1e300, 3e300}, 1);
  for (int64_t i = 0; i < 100; ++i) EXPECT_TRUE(equal(small.at(i), large.at(i))) << i;
}

}  // namespace
}  // namespace skein::data
