// What attention's kernels on tensor cores share: tiles of heads, masks, and the fragments a lane
// holds. Internal to attention.
#pragma once

#include "attention_sight.cuh"
#include "mma.cuh"

namespace skein::kernels {

// Four warps, sixteen rows of the result each.
constexpr int kMmaThreads = 128, kMmaRows = 64;

// Rows [first, first + kRows) of a head, in flight until the caller waits; zeros beyond `count`
// rows and `width` columns.
template <int kRows, int kWidth, class T, class At>
__device__ void fetch_tile(const T* from, int64_t first, int64_t count, int64_t width, T* to,
                           const At& at) {
  constexpr int kPieces = kWidth / 8;
  for (int i = threadIdx.x; i < kRows * kPieces; i += blockDim.x) {
    const int64_t row = first + i / kPieces, column = i % kPieces * 8;
    const bool there = row < count && column < width;
    copy_later(to + i / kPieces * kTilePitch<kWidth> + column,
               there ? from + at(row) + column : from, there);
  }
}

// Begins to fetch the next tile, where there is one, and returns when the tile before it is there
// for all threads.
template <class Fetch>
__device__ void wait_for_tile(bool more, const Fetch& fetch_next) {
  if (more) {
    fetch_next();
    wait_for_copies<1>();
  } else {
    wait_for_copies<0>();
  }
  __syncthreads();
}

// Element e of fragment `tile` that this lane holds: its row among the warp's sixteen, and its
// column.
__device__ inline int row_of(int e) {
  return static_cast<int>(threadIdx.x) % kWarp / 4 + e / 2 * 8;
}
__device__ inline int column_of(int tile, int e) {
  return tile * 8 + static_cast<int>(threadIdx.x) % 4 * 2 + e % 2;
}

// Over the four lanes that hold a row.
__device__ inline float row_sum(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}
__device__ inline float row_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

// Whether queries [query, query + queries) all see keys [key, key + keys).
template <class T>
__device__ bool all_see(const AttentionHead<T>& head, int64_t query, int64_t queries, int64_t key,
                        int64_t keys) {
  if (!head.a.is_band() || query + queries > head.a.queries) return false;
  return key >= head.first(query + queries - 1) && key + keys <= head.last(query);
}

// sums [16, kWidth] of a warp to rows of a head that exist, the upper eight times factors[0], the
// lower times factors[1].
template <int kWidth, class T, class At>
__device__ void store_rows(const float (&sums)[kWidth / 8][4], const float (&factors)[2],
                           int64_t first, int64_t count, int64_t width, T* to, const At& at) {
#pragma unroll
  for (int tile = 0; tile < kWidth / 8; ++tile)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = first + row_of(half * 2), column = column_of(tile, 0);
      if (row >= count || column >= width) continue;
      const float factor = factors[half];
      *reinterpret_cast<uint32_t*>(to + at(row) + column) =
          pair_of<T>(sums[tile][half * 2] * factor, sums[tile][half * 2 + 1] * factor);
    }
}

// Whether the tensor cores' kernels can read these heads: 16 bytes at a time, and no wider than
// they hold.
template <class T>
bool fits_mma(const AttentionPointers<T>& a) {
  return sizeof(T) == 2 && a.width % 8 == 0 && a.width <= 128;
}

// f(width of the tiles, as a constant).
template <class F>
void by_head_width(int64_t width, const F& f) {
  if (width <= 32)
    f(std::integral_constant<int, 32>{});
  else if (width <= 64)
    f(std::integral_constant<int, 64>{});
  else if (width <= 96)
    f(std::integral_constant<int, 96>{});
  else
    f(std::integral_constant<int, 128>{});
}

}  // namespace skein::kernels
