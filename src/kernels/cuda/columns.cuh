// Sums over rows, for gradients of vectors. Internal to the CUDA kernels.
#pragma once

#include "common.cuh"

namespace skein::kernels {

constexpr int kColumnThreads = 256, kColumnWarps = kColumnThreads / kWarp;
constexpr int64_t kRowsOfPart = 64;

// A block: kWidth columns a lane, kRowsOfPart rows, its warps in turn; their sums are added in
// order. f(row, column, sums) adds what kWidth elements give, to each of kSums vectors.
template <int kSums, int kWidth, class A, class F>
__global__ void column_parts(int64_t rows, int64_t columns, F f, A* parts) {
  __shared__ A shared[kColumnWarps][kWarp * kWidth];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t column = (static_cast<int64_t>(blockIdx.x) * kWarp + lane) * kWidth,
                first = blockIdx.y * kRowsOfPart;
  const int64_t end = first + kRowsOfPart < rows ? first + kRowsOfPart : rows;
  A sums[kSums][kWidth] = {};
  if (column < columns)
    for (int64_t r = first + warp; r < end; r += kColumnWarps) f(r, column, sums);
#pragma unroll
  for (int s = 0; s < kSums; ++s) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kWidth; ++k) shared[warp][lane * kWidth + k] = sums[s][k];
    __syncthreads();
    for (int c = threadIdx.x; c < kWarp * kWidth; c += blockDim.x) {
      const int64_t at = static_cast<int64_t>(blockIdx.x) * kWarp * kWidth + c;
      if (at >= columns) continue;
      A sum = shared[0][c];
      for (int w = 1; w < kColumnWarps; ++w) sum += shared[w][c];
      parts[(static_cast<int64_t>(s) * gridDim.y + blockIdx.y) * columns + at] = sum;
    }
  }
}

// out[c] += the parts of vector `which`, in order.
template <class A>
__global__ void add_parts(int64_t columns, int64_t count, int64_t which, const A* parts, A* out) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  A sum = out[c];
  for (int64_t p = 0; p < count; ++p) sum += parts[(which * count + p) * columns + c];
  out[c] = sum;
}

// outs[s] [columns] += sums over all rows; null where nobody wants it. device: of the tensors.
template <int kSums, int kWidth, class A, class F>
void column_sums(const char* name, Cuda on, Device device, int64_t rows, int64_t columns,
                 const F& f, A* const (&outs)[kSums]) {
  const int64_t count = pieces_of(rows, kRowsOfPart);
  const Tensor parts = Tensor::empty({kSums, count, columns}, DTypeOf<A>::value, device);
  const dim3 grid = grid_of(pieces_of(columns, kWarp * kWidth), count);
  launch(name, on, column_parts<kSums, kWidth, A, F>, grid, kColumnThreads, 0, rows, columns, f,
         parts.template data<A>());
  for (int s = 0; s < kSums; ++s)
    if (outs[s])
      launch(name, on, add_parts<A>, grid_of(pieces_of(columns, kColumnThreads)), kColumnThreads, 0,
             columns, count, int64_t{s}, parts.template data<A>(), outs[s]);
}

// f(elements a lane reads at once), as a constant.
template <class T, class F>
void by_width(bool wide, const F& f) {
  if (wide)
    f(std::integral_constant<int, Pack<T>::kSize>{});
  else
    f(std::integral_constant<int, 1>{});
}

}  // namespace skein::kernels
