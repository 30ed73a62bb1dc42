// Sums over rows, for gradients of vectors. Internal to the CUDA kernels.
#pragma once

#include <algorithm>

#include "common.cuh"

namespace skein::kernels {

constexpr int kColumnThreads = 256, kColumnWarps = kColumnThreads / kWarp;
constexpr int64_t kRowsOfPart = 64;
constexpr int kAddingWarps = 16;

// A block: a piece of the columns, kWidth a lane, and kRowsOfPart rows, its warps in turn; their
// sums are added in order. Blocks that follow one another have the same rows. f(row, column, sums)
// adds what kWidth elements give, to each of kSums vectors.
template <int kSums, int kWidth, class A, class F>
__global__ void column_parts(int64_t rows, int64_t columns, unsigned pieces, F f, A* parts) {
  __shared__ A shared[kColumnWarps][kWarp * kWidth];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t piece = blockIdx.x % pieces, part = blockIdx.x / pieces,
                column = (piece * kWarp + lane) * kWidth, first = part * kRowsOfPart;
  const int64_t end = first + kRowsOfPart < rows ? first + kRowsOfPart : rows;
  A sums[kSums][kWidth] = {};
  if (column < columns)
#pragma unroll 4
    for (int64_t r = first + warp; r < end; r += kColumnWarps) f(r, column, sums);
#pragma unroll
  for (int s = 0; s < kSums; ++s) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kWidth; ++k) shared[warp][lane * kWidth + k] = sums[s][k];
    __syncthreads();
    for (int c = threadIdx.x; c < kWarp * kWidth; c += blockDim.x) {
      const int64_t at = piece * kWarp * kWidth + c;
      if (at >= columns) continue;
      A sum = shared[0][c];
      for (int w = 1; w < kColumnWarps; ++w) sum += shared[w][c];
      parts[(s * int64_t{gridDim.x / pieces} + part) * columns + at] = sum;
    }
  }
}

template <int kSums, class A>
struct ColumnOuts {
  A* at[kSums];  // or null
};

// out[c] += the parts of each vector: a warp adds neighbours in order, then their sums are added in
// order. A lane a column.
template <int kSums, class A>
__global__ void add_parts(int64_t columns, int64_t count, const A* parts,
                          ColumnOuts<kSums, A> outs) {
  __shared__ A shared[kAddingWarps][kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t c = static_cast<int64_t>(blockIdx.x) * kWarp + lane,
                each = pieces_of(count, kAddingWarps), first = warp * each,
                last = first + each < count ? first + each : count;
  A* out = outs.at[blockIdx.y];
  if (!out) return;
  const A* from = parts + blockIdx.y * count * columns + c;
  A sum = 0;
  if (c < columns)
#pragma unroll 8
    for (int64_t p = first; p < last; ++p) sum += from[p * columns];
  shared[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || c >= columns) return;
  sum = out[c];
  for (int w = 0; w < kAddingWarps; ++w) sum += shared[w][lane];
  out[c] = sum;
}

// outs[s] [columns] += sums over all rows; null where nobody wants it. device: of the tensors.
template <int kSums, int kWidth, class A, class F>
void column_sums(const char* name, Cuda on, Device device, int64_t rows, int64_t columns,
                 const F& f, A* const (&outs)[kSums]) {
  const int64_t count = pieces_of(rows, kRowsOfPart);
  const Tensor parts = Tensor::empty({kSums, count, columns}, DTypeOf<A>::value, device);
  const int64_t pieces = pieces_of(columns, kWarp * kWidth);
  launch(name, on, column_parts<kSums, kWidth, A, F>, grid_of(pieces * count), kColumnThreads, 0,
         rows, columns, static_cast<unsigned>(pieces), f, parts.template data<A>());
  ColumnOuts<kSums, A> to;
  std::copy_n(outs, kSums, to.at);
  launch(name, on, add_parts<kSums, A>, grid_of(pieces_of(columns, kWarp), kSums),
         kAddingWarps * kWarp, 0, columns, count, parts.template data<A>(), to);
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
