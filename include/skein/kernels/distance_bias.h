// What the scores of attention get for the distance between key and query, from a learnt table.
#pragma once

#include <vector>

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// Which row of the table a distance reads (Raffel et al., "Exploring the limits of transfer
// learning with a unified text-to-text transformer", 2020).
struct DistanceBuckets {
  int64_t count = 32;      // rows of the table
  int64_t farthest = 128;  // this distance and all beyond it share a row
  bool both_ways = true;   // false: of keys behind the query nothing is told apart
};

// distance: the key's place less the query's. both_ways: the upper half of the rows is for
// distances above 0, and of the n in a half r = |distance|; else n = count and r = max(0,
// -distance). With e = n / 2: r itself below e, else e + floor(log(r / e) / log(farthest / e) (n -
// e)), at most n - 1; in f32, as the programs do whose tables are read.
int64_t bucket_of(int64_t distance, const DistanceBuckets& buckets);

// Distances, each with its place in the table, and the same by place: i32.
struct BucketedDistances {
  Tensor buckets;  // [W]: the bucket of each
  // [count+1], [W]: members[starts[k]] .. members[starts[k+1] - 1] are the numbers of those in
  // bucket k, which rise.
  Tensor starts, members;
};
BucketedDistances in_buckets(const std::vector<int32_t>& buckets, int64_t count, Device device);
// Of distances that rise by 1 from the first on.
BucketedDistances bucketed_distances(const DistanceBuckets& buckets, int64_t first, int64_t width,
                                     Device device);

// bias [B,H,W] in the accumulator type: of each sample and head the table's [H,count] numbers of
// all distances.
void distance_bias(Cpu, const Tensor& table, const BucketedDistances& at, Out bias);
void distance_bias(Cuda, const Tensor& table, const BucketedDistances& at, Out bias);
// table_gradient [H,count] (accumulator type) += the sums of dbias [B,H,W] that each sample has, in
// the order of samples; such a sum is over distances in rising order.
void distance_bias_backward(Cpu, const Tensor& dbias, const BucketedDistances& at,
                            Out table_gradient);
void distance_bias_backward(Cuda, const Tensor& dbias, const BucketedDistances& at,
                            Out table_gradient);

}  // namespace skein::kernels
