// T5's buckets against transformers, and the table's kernels.
#include "skein/kernels/distance_bias.h"

#include <fstream>
#include <omp.h>

#include "skein/core/json.h"

#include "support/kernel_check.h"

namespace skein {
namespace {

using kernels::DistanceBuckets;

TEST(DistanceBuckets, AreThoseOfTransformers) {
  const auto golden = nlohmann::json::parse(std::ifstream("kernels/distance_buckets.golden.json"));
  ASSERT_EQ(golden["settings"].size(), 5u);
  for (const auto& one : golden["settings"]) {
    const DistanceBuckets buckets{one["count"], one["farthest"], one["both_ways"]};
    int64_t distance = golden["first"];
    ASSERT_EQ(one["buckets"].size(), 1201u);
    for (int64_t wanted : one["buckets"]) {
      EXPECT_EQ(kernels::bucket_of(distance, buckets), wanted)
          << distance << " of " << buckets.count;
      ++distance;
    }
  }
}

TEST(DistanceBuckets, OfDistancesInARowAreRuns) {
  for (bool both_ways : {true, false}) {
    const DistanceBuckets buckets{32, 128, both_ways};
    const auto found = kernels::bucketed_distances(buckets, -200, 321, {});
    std::vector<bool> told(321);
    const int32_t *starts = found.starts.data<int32_t>(), *members = found.members.data<int32_t>();
    for (int32_t k = 0; k < 32; ++k)
      for (int32_t at = starts[k], i; at < starts[k + 1]; ++at) {
        i = members[at];
        if (at > starts[k]) {
          EXPECT_EQ(i, members[at - 1] + 1);
        }
        EXPECT_EQ(kernels::bucket_of(i - 200, buckets), k) << i;
        EXPECT_EQ(found.buckets.data<int32_t>()[i], k) << i;
        told[static_cast<size_t>(i)] = true;
      }
    EXPECT_EQ(std::ranges::count(told, true), 321);
  }
}

const DistanceBuckets kBuckets{8, 12, true};

// Samples are cut in calls of `step`.
Tensor table_gradient(const Tensor& dbias, int64_t step) {
  const Tensor made = Tensor::zeros({dbias.dim(1), kBuckets.count}, dbias.dtype());
  const auto at = kernels::bucketed_distances(kBuckets, -20, dbias.dim(2), {});
  for (int64_t b = 0; b < dbias.dim(0); b += step)
    kernels::distance_bias_backward(Cpu{}, dbias.rows(b, b + step), at, Out(made));
  return made;
}

TEST(DistanceBias, IsTheTableAndItsGradientTheSumOfEachBucket) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    const Tensor table = test::random_tensor({3, 8}, 1, dtype),
                 bias = Tensor::zeros({2, 3, 41}, gradient_dtype(dtype));
    kernels::distance_bias(Cpu{}, table, kernels::bucketed_distances(kBuckets, -20, 41, {}),
                           Out(bias));
    const auto found = test::values_of(bias), numbers = test::values_of(table);
    std::vector<double> sums(24);
    const Tensor dbias = test::random_tensor(bias.shape(), 2, bias.dtype());
    const auto slopes = test::values_of(dbias);
    for (size_t i = 0; i < found.size(); ++i) {
      const size_t head = i / 41 % 3, bucket = static_cast<size_t>(kernels::bucket_of(
                                          static_cast<int64_t>(i % 41) - 20, kBuckets));
      EXPECT_EQ(found[i], numbers[head * 8 + bucket]);
      sums[head * 8 + bucket] += slopes[i];
    }
    test::expect_near(table_gradient(dbias, 2), Tensor::from(sums, {3, 8}), 1e-5, "gradient");
  }
}

TEST(DistanceBias, BitsOfTheGradientDoNotDependOnBatchesOrThreads) {
  const Tensor dbias = test::random_tensor({12, 5, 41}, 3, DType::f32);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto wanted = test::bytes_of(table_gradient(dbias, 12));
  for (int threads : {1, 3}) {
    omp_set_num_threads(threads);
    for (int64_t step : {1, 2, 6}) EXPECT_EQ(test::bytes_of(table_gradient(dbias, step)), wanted);
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace skein
