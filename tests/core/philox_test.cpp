#include "skein/core/philox.h"

#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <vector>

namespace skein {
namespace {

// Known answers of Random123 1.14 for philox4x32 with 10 rounds.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox(0, PhiloxBlock{0, 0, 0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox(~uint64_t{0}, PhiloxBlock{ones, ones, ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, PhiloxBlock{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, StreamAndIndexFillTheCounter) {
  const uint64_t stream = 0x1122334455667788, index = 0x99aabbccddeeff00;
  EXPECT_EQ(philox(5, stream, index),
            philox(5, PhiloxBlock{0xddeeff00, 0x99aabbcc, 0x55667788, 0x11223344}));
  EXPECT_NE(philox(5, 1, 0), philox(5, 0, 1));
}

TEST(Philox, UniformsStayInsideTheirIntervals) {
  const uint32_t ones = std::numeric_limits<uint32_t>::max();
  EXPECT_GT(uniform_open(0), 0.0f);
  EXPECT_EQ(uniform_open(ones), 1.0f);
  EXPECT_EQ(uniform_double(0, 0), 0.0);
  EXPECT_LT(uniform_double(ones, ones), 1.0);
  EXPECT_EQ(uniform_double(0x80000000, 0), 0.5);
}

TEST(Philox, NormalNumbersHaveNormalMoments) {
  const int count = 1'000'000;
  double sum = 0, squares = 0, fourths = 0, neighbours = 0, before = 0;
  for (int i = 0; i < count; ++i) {
    const double x = normal_at(17, 3, static_cast<uint64_t>(i));
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
    neighbours += x * before;
    before = x;
  }
  const double variance = squares / count;
  EXPECT_NEAR(sum / count, 0, 5e-3);
  EXPECT_NEAR(variance, 1, 8e-3);
  EXPECT_NEAR(fourths / count / (variance * variance), 3, 0.03);
  EXPECT_NEAR(neighbours / count, 0, 5e-3);
}

TEST(Philox, NormalNumbersDependOnKeyStreamAndIndexOnly) {
  EXPECT_EQ(normal_at(1, 2, 3), normal_at(1, 2, 3));
  std::set<float> seen;
  for (uint64_t i = 0; i < 8; ++i) seen.insert(normal_at(1, 2, i));
  seen.insert(normal_at(2, 2, 0));
  seen.insert(normal_at(1, 3, 0));
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Philox, RowsOfNormalNumbersAreThoseOfTheirIndex) {
  for (uint64_t first = 0; first < 6; ++first)
    for (size_t count : {0, 1, 3, 4, 9, 64}) {
      std::vector<float> numbers(count);
      fill_normal(5, 7, first, numbers);
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(numbers[i], normal_at(5, 7, first + i));
    }
}

TEST(DeriveKey, DiffersByNameAndSeed) {
  EXPECT_EQ(derive_key(1, "init"), derive_key(1, "init"));
  const std::set<uint64_t> keys{derive_key(1, "init"), derive_key(1, "dropout"),
                                derive_key(2, "init"), derive_key(1, ""), derive_key(2, "")};
  EXPECT_EQ(keys.size(), 5u);
}

}  // namespace
}  // namespace skein
