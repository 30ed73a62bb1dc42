#include "skein/kernels/distance_bias.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "skein/core/numbers.h"
#include "skein/core/profile.h"

#include "parallel.h"
#include "vector.h"

namespace skein::kernels {

int64_t bucket_of(int64_t distance, const DistanceBuckets& buckets) {
  const int64_t n = buckets.both_ways ? buckets.count / 2 : buckets.count, exact = n / 2,
                first = buckets.both_ways && distance > 0 ? n : 0,
                r = buckets.both_ways ? std::abs(distance) : std::max<int64_t>(0, -distance);
  if (r < exact) return first + r;
  const double span = std::log(static_cast<double>(buckets.farthest) / exact);
  const float along = std::log(static_cast<float>(r) / static_cast<float>(exact)) /
                      static_cast<float>(span) * static_cast<float>(n - exact);
  return first + std::min(n - 1, exact + static_cast<int64_t>(along));
}

BucketedDistances in_buckets(const std::vector<int32_t>& buckets, int64_t count, Device device) {
  const auto width = std::ssize(buckets);
  std::vector<int32_t> starts(count + 1), members(buckets.size());
  for (const int32_t bucket : buckets) ++starts[bucket + 1];
  for (int64_t k = 0; k < count; ++k) starts[k + 1] += starts[k];
  std::vector<int32_t> next(starts.begin(), starts.end() - 1);
  for (int64_t i = 0; i < width; ++i) members[next[buckets[i]]++] = narrow<int32_t>(i);
  return {Tensor::from(buckets, {width}).to(device), Tensor::from(starts, {count + 1}).to(device),
          Tensor::from(members, {width}).to(device)};
}

BucketedDistances bucketed_distances(const DistanceBuckets& buckets, int64_t first, int64_t width,
                                     Device device) {
  std::vector<int32_t> made;
  for (int64_t i = 0; i < width; ++i)
    made.push_back(narrow<int32_t>(bucket_of(first + i, buckets)));
  return in_buckets(made, buckets.count, device);
}

void distance_bias(Cpu, const Tensor& table, const BucketedDistances& at, Out bias) {
  const Span span("distance bias");
  const int64_t heads = table.dim(0), count = table.dim(1), width = at.buckets.size();
  const int32_t* bucket = at.buckets.data<int32_t>();
  visit_float(table.dtype(), [&]<class T>(TypeTag<T>) {
    const T* from = table.data<T>();
    auto* to = bias->data<Accumulator<T>>();
    parallel_ranges(bias->dim(0) * heads, row_grain(width), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        for (int64_t i = 0; i < width; ++i)
          to[row * width + i] = load(from + row % heads * count + bucket[i]);
    });
  });
}

void distance_bias_backward(Cpu, const Tensor& dbias, const BucketedDistances& at,
                            Out table_gradient) {
  const Span span("distance bias backward");
  const int64_t samples = dbias.dim(0), heads = dbias.dim(1), width = dbias.dim(2),
                count = table_gradient->dim(1);
  const int32_t *starts = at.starts.data<int32_t>(), *members = at.members.data<int32_t>();
  visit_float(dbias.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const A* slopes = dbias.data<A>();
    A* to = table_gradient->data<A>();
    parallel_ranges(heads, 1, [=](int64_t begin, int64_t end) {
      for (int64_t h = begin; h < end; ++h)
        for (int64_t b = 0; b < samples; ++b) {
          const A* row = slopes + (b * heads + h) * width;
          for (int64_t k = 0; k < count; ++k) {
            A sum{};
            for (int32_t i = starts[k]; i < starts[k + 1]; ++i) sum += row[members[i]];
            to[h * count + k] += sum;
          }
        }
    });
  });
}

}  // namespace skein::kernels
