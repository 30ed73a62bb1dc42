#include "skein/kernels/embedding.h"

#include "common.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 128;

template <class T>
__global__ void gather_rows(int64_t columns, int64_t held, const T* table, const int32_t* ids, int64_t first_id, T* out) {
  const int64_t n = blockIdx.x, row = ids[n] - first_id;
  const bool here = row >= 0 && row < held;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) store(out + n * columns + c, here ? load(table + row * columns + c) : Accumulator<T>(0));
}

// The block of an id's first place adds the rows of all its places in order; the blocks of its other places have nothing to do.
template <class T>
__global__ void add_rows(int64_t count, int64_t columns, int64_t held, const T* dy, const int32_t* ids, int64_t first_id, Accumulator<T>* sums) {
  __shared__ int found;
  const int64_t first = blockIdx.x;
  const int32_t id = ids[first];
  const int64_t row = id - first_id;
  if (row < 0 || row >= held) return;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  for (int64_t n = threadIdx.x; n < first; n += blockDim.x)
    if (ids[n] == id) found = 1;
  __syncthreads();
  if (found) return;
  __shared__ int32_t window[kThreads];
  for (int64_t from = first; from < count; from += kThreads) {
    __syncthreads();
    window[threadIdx.x] = from + threadIdx.x < count ? ids[from + threadIdx.x] : id - 1;
    __syncthreads();
    for (int k = 0; k < kThreads; ++k) {
      if (window[k] != id) continue;
      for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) sums[row * columns + c] += load(dy + (from + k) * columns + c);
    }
  }
}

template <class T>
__global__ void waves(int64_t columns, const int32_t* positions, T* out) {
  const int64_t n = blockIdx.x, half = columns / 2;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const double angle = positions[n] * pow(10000.0, -static_cast<double>(c % half) / static_cast<double>(half));
    store(out + n * columns + c, static_cast<Accumulator<T>>(c < half ? sin(angle) : cos(angle)));
  }
}

dim3 grid_of(int64_t rows) { return dim3(static_cast<unsigned>(rows)); }

}  // namespace

void embedding(Cuda on, const Tensor& table, const Tensor& ids, int64_t first_id, const Tensor& out) {
  visit_float(table.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch("embedding", on, gather_rows<T>, grid_of(ids.size()), kThreads, 0, table.dim(1), table.dim(0), table.data<T>(), ids.data<int32_t>(),
           first_id, out.data<T>());
  });
}

void embedding_backward(Cuda on, const Tensor& dy, const Tensor& ids, int64_t first_id, const Tensor& table_gradient) {
  visit_float(dy.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch("embedding_backward", on, add_rows<T>, grid_of(ids.size()), kThreads, 0, ids.size(), table_gradient.dim(1), table_gradient.dim(0),
           dy.data<T>(), ids.data<int32_t>(), first_id, table_gradient.data<Accumulator<T>>());
  });
}

void sinusoid(Cuda on, const Tensor& positions, const Tensor& out) {
  visit_float(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch("sinusoid", on, waves<T>, grid_of(positions.size()), kThreads, 0, out.dim(-1), positions.data<int32_t>(), out.data<T>());
  });
}

}  // namespace skein::kernels
