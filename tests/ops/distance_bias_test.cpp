#include "skein/ops/distance_bias.h"

#include "support/gradient_check.h"
#include "support/op_cases.h"

namespace skein {
namespace {

const kernels::DistanceBuckets kBuckets{8, 12, true};

TEST(DistanceBiasOp, HasItsGradient) {
  for (bool both_ways : {true, false}) {
    const ops::Distances of{7, 9, 0, {8, 12, both_ways}};
    test::check_gradients(
        [&](const test::Checked& at) { return ops::distance_bias(at.weights[0], 2, of); }, {},
        {{3, 8}});
  }
}

// Element j - i + T - 1 is of key j for query i.
TEST(DistanceBiasOp, TellsTheDistanceOfAKeyFromAQuery) {
  constexpr int64_t kQueries = 6, kKeys = 11, kFirst = 3, kWidth = kQueries + kKeys - 1;
  const WeightMemory table{test::random_tensor({2, 8}, 1), {}, nullptr, false};
  const Tensor bias = ops::distance_bias(table, 1, {kQueries, kKeys, kFirst, kBuckets}).value();
  ASSERT_EQ(bias.shape(), (Shape{1, 2, kWidth}));
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t i = 0; i < kQueries; ++i)
      for (int64_t j = 0; j < kKeys; ++j)
        EXPECT_EQ(bias.data<double>()[h * kWidth + j - i + kQueries - 1],
                  table.value.data<double>()[h * 8 + kernels::bucket_of(j - kFirst - i, kBuckets)]);
}

// A query that is decoded alone gets what it has among all.
TEST(DistanceBiasOp, OfTheLastQueryIsItsRowAmongAll) {
  constexpr int64_t kLength = 20;
  const WeightMemory table{test::random_tensor({1, 8}, 1), {}, nullptr, false};
  const Tensor all = ops::distance_bias(table, 1, {kLength, kLength, 0, {8, 12, false}}).value(),
               last =
                   ops::distance_bias(table, 1, {1, kLength, kLength - 1, {8, 12, false}}).value();
  EXPECT_EQ(test::bytes_of(all.flat(0, kLength)), test::bytes_of(last.flat(0, kLength)));
}

TEST(DistanceBiasOp, RefusesWhatCannotBe) {
  const auto refusal = [](int64_t rows, int64_t samples, const ops::Distances& of) {
    const WeightMemory table = test::weight_of(test::random_tensor({2, rows}, 1));
    return test::internal_error_of([&] { ops::distance_bias(table, samples, of); });
  };
  EXPECT_EQ(refusal(8, 1, {3, 3, 0, {32, 128, true}}),
            "distance_bias: table must have 32 columns, one a bucket: table [2,8]");
  EXPECT_EQ(
      refusal(8, 1, {3, 3, 0, {8, 2, true}}),
      "distance_bias: the farthest distance must be above 2, the number of exact ones, not 2");
  EXPECT_EQ(refusal(8, 1, {3, 0, 0, kBuckets}),
            "distance_bias: there must be samples, queries and keys, not 1, 3 and 0");
  EXPECT_EQ(refusal(6, 1, {3, 3, 0, {6, 12, true}}),
            "distance_bias: the number of buckets must be a multiple of 4, not 6");
}

}  // namespace
}  // namespace skein
