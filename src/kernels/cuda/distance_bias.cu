#include "skein/kernels/distance_bias.h"

#include "common.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 128;

template <class T>
__global__ void look_up(int64_t heads, int64_t count, int64_t width, const T* table,
                        const int32_t* buckets, Accumulator<T>* out) {
  const int64_t row = blockIdx.x;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x)
    out[row * width + i] = load(table + row % heads * count + buckets[i]);
}

// A block a number of the table. Threads sum a sample each, and the first adds these in their
// order.
template <class A>
__global__ void add_samples(int64_t samples, int64_t heads, int64_t width, const A* slopes,
                            const int32_t* starts, const int32_t* members, A* table) {
  __shared__ A sums[kThreads];
  const int64_t head = blockIdx.y, count = gridDim.x, bucket = blockIdx.x;
  const int32_t begin = starts[bucket], end = starts[bucket + 1];
  A total = table[head * count + bucket];
  for (int64_t first = 0; first < samples; first += kThreads) {
    const int64_t sample = first + threadIdx.x;
    A sum(0);
    if (sample < samples) {
      const A* row = slopes + (sample * heads + head) * width;
      for (int32_t i = begin; i < end; ++i) sum += row[members[i]];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
      for (int64_t s = 0; s < kThreads && first + s < samples; ++s) total += sums[s];
    __syncthreads();
  }
  if (threadIdx.x == 0) table[head * count + bucket] = total;
}

}  // namespace

void distance_bias(Cuda on, const Tensor& table, const BucketedDistances& at, Out bias) {
  visit_float(table.dtype(), [&]<class T>(TypeTag<T>) {
    launch("distance_bias", on, look_up<T>, grid_of(bias->dim(0) * bias->dim(1)), kThreads, 0,
           table.dim(0), table.dim(1), at.buckets.size(), table.data<T>(),
           at.buckets.data<int32_t>(), bias->data<Accumulator<T>>());
  });
}

void distance_bias_backward(Cuda on, const Tensor& dbias, const BucketedDistances& at,
                            Out table_gradient) {
  const int64_t heads = dbias.dim(1);
  dim3 grid = grid_of(table_gradient->dim(1));
  grid.y = static_cast<unsigned>(heads);
  visit_float(dbias.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    launch("distance_bias_backward", on, add_samples<A>, grid, kThreads, 0, dbias.dim(0), heads,
           dbias.dim(2), dbias.data<A>(), at.starts.data<int32_t>(), at.members.data<int32_t>(),
           table_gradient->data<A>());
  });
}

}  // namespace skein::kernels
