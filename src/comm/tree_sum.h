// Sums over ranks in the one order that every transport keeps. Internal to the floor.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "skein/core/numbers.h"
#include "skein/tensor/dtype.h"

namespace skein {

// What sums of T are kept in: bf16 and f16 in f32.
template <class T>
using SumOf =
    std::conditional_t<std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>, float, T>;

// Calls f(TypeTag<T>{}) for a dtype that ranks sum: i64 or a floating one.
template <class F>
void visit_sums(DType dtype, const F& f) {
  if (dtype == DType::i64) return f(TypeTag<int64_t>{});
  visit_float(dtype, f);
}

// Elements summed at a time, so that the partial sums stay in the nearest cache.
constexpr int64_t kStrip = 2048;

// left [count] += right [count]
template <class S, class T>
inline void add_block(S* left, const T* right, int64_t count) {
  for (int64_t i = 0; i < count; ++i) left[i] += static_cast<S>(right[i]);
}

// sums [count] = sum(0..ranks) of blocks, each `count` long: sum(0..h) + sum(h..ranks), h the
// largest power of two below ranks. spare: room for one strip a level.
template <class T, class S>
void tree_sum(const T* const* blocks, int ranks, int64_t count, S* sums, S* spare) {
  if (ranks == 1) {
    for (int64_t i = 0; i < count; ++i) sums[i] = static_cast<S>(blocks[0][i]);
    return;
  }
  const int half = std::bit_floor<unsigned>(ranks - 1);
  tree_sum(blocks, half, count, sums, spare);
  if (ranks - half == 1) return add_block(sums, blocks[half], count);
  tree_sum(blocks + half, ranks - half, count, spare, spare + kStrip);
  add_block(sums, spare, count);
}

// out [count] = sum of blocks[r] + 0 .. count, one for each rank, out being one of them or apart
// from all.
template <class T>
void sum_ranks(const std::vector<const T*>& blocks, int64_t count, T* out) {
  using S = SumOf<T>;
  const int ranks = narrow<int>(blocks.size());
  std::vector<S> room(kStrip * (2 + std::bit_width<unsigned>(ranks)));
  std::vector<const T*> at(blocks);
  for (int64_t begin = 0; begin < count; begin += kStrip) {
    const int64_t n = std::min(kStrip, count - begin);
    tree_sum<T, S>(at.data(), ranks, n, room.data(), room.data() + kStrip);
    for (int64_t i = 0; i < n; ++i) out[begin + i] = static_cast<T>(room[i]);
    for (const T*& block : at) block += n;
  }
}

}  // namespace skein
