#include "skein/kernels/distance_bias.h"

#include <cmath>
#include <cstdlib>
#include <vector>

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

BucketedDistances bucketed_distances(const DistanceBuckets& buckets, int64_t first, int64_t width,
                                     Device device) {
  const Tensor rows = Tensor::empty({width}, DType::i32),
               runs = Tensor::zeros({buckets.count, 2}, DType::i32);
  int32_t *row = rows.data<int32_t>(), *run = runs.data<int32_t>();
  for (int32_t i = 0; i < width; ++i) {
    const auto bucket = static_cast<int32_t>(bucket_of(first + i, buckets));
    row[i] = bucket;
    int32_t *begin = run + 2 * bucket, *end = begin + 1;
    if (*end == 0) *begin = i;
    *end = i + 1;
  }
  return {rows.to(device), runs.to(device)};
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
  const int32_t* runs = at.runs.data<int32_t>();
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
            for (int32_t i = runs[2 * k]; i < runs[2 * k + 1]; ++i) sum += row[i];
            to[h * count + k] += sum;
          }
        }
    });
  });
}

}  // namespace skein::kernels
