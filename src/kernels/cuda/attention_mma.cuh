// What attention's kernels on tensor cores share: tiles of heads, masks, and the fragments a lane
// holds. Internal to attention.
#pragma once

#include "attention_sight.cuh"
#include "mma.cuh"

namespace skein::kernels {

// Four warps, sixteen rows of the result each.
constexpr int kMmaThreads = 128, kMmaRows = 64;
// At once on a multiprocessor; a limit to the registers of a lane.
template <int kWidth>
constexpr int kBlocks = kWidth > 64 ? 2 : 3;

// Rows [first, first + kRows) of a head, in flight until the caller waits; zeros beyond `count`
// rows and `width` columns.
template <int kRows, int kWidth, class T>
__device__ void fetch_tile(const T* from, int64_t first, int64_t count, int64_t width, T* to,
                           const HeadRows& rows) {
  // Each thread has one place in every kStep-th row.
  constexpr int kPieces = kWidth / 8, kStep = kMmaThreads / kPieces, kPitch = kTilePitch<kWidth>;
  const int row = static_cast<int>(threadIdx.x) / kPieces,
            column = static_cast<int>(threadIdx.x) % kPieces * 8;
  if (row >= kStep) return;
  const int left = column >= width                  ? 0
                   : count - first < int64_t{kRows} ? static_cast<int>(count - first)
                                                    : kRows;
  const T* at = from + rows.at(first + row) + column;
  T* into = to + row * kPitch + column;
#pragma unroll
  for (int r = 0; r < kRows; r += kStep) {
    if (kRows % kStep != 0 && row + r >= kRows) break;
    const bool there = row + r < left;
    copy_later(into + r * kPitch, there ? at : from, there);
    at += kStep * rows.apart;
  }
}

// Returns when the tile that was fetched last is there for all threads, and none of them is at the
// one before any more; then begins to fetch the next one, where there is one.
template <class Fetch>
__device__ void wait_for_tile(bool more, const Fetch& fetch_next) {
  wait_for_copies<0>();
  __syncthreads();
  if (more) fetch_next();
}

// Element e of fragment `tile` that this lane holds: its row among the warp's sixteen, and its
// column.
__device__ inline int row_of(int e) {
  return static_cast<int>(threadIdx.x) % kWarp / 4 + e / 2 * 8;
}
__device__ inline int column_of(int tile, int e) {
  return tile * 8 + static_cast<int>(threadIdx.x) % 4 * 2 + e % 2;
}

// 2 to the power of x, 0 for the smallest.
__device__ inline float power_of_two(float x) {
#ifdef __CUDA_ARCH__
  float made;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(made) : "f"(x));
  return made;
#else
  return exp2f(x);
#endif
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

// Of sixteen rows of a warp's fragments, the columns that each sees in a band: of the two rows that
// a lane holds, and those that all sixteen see.
struct BandRows {
  int begin[2], end[2], first, last;

  __device__ bool all(int64_t from, int columns) const {
    return from >= first && from + columns <= last;
  }
  // Of element e of a fragment, in column `column`.
  __device__ bool has(int e, int64_t column) const {
    return column >= begin[e / 2] && column < end[e / 2];
  }
};

// A place as a number of columns there are.
__device__ inline int place_of(int64_t place, int64_t count) {
  return static_cast<int>(place < 0 ? 0 : place < count ? place : count);
}

// Rows are queries, columns keys.
template <class T>
__device__ BandRows keys_in_band(const AttentionHead<T>& head, int64_t query) {
  const int64_t keys = head.a.keys;
  BandRows made;
  for (int half = 0; half < 2; ++half) {
    const int64_t row = query + row_of(half * 2);
    made.begin[half] = place_of(head.first(row), keys);
    made.end[half] = place_of(head.last(row), keys);
  }
  made.first = place_of(head.first(query + 15), keys);
  made.last = place_of(head.last(query), keys);
  return made;
}
// Rows are keys, columns queries.
template <class T>
__device__ BandRows queries_in_band(const AttentionHead<T>& head, int64_t key) {
  const int64_t queries = head.a.queries,
                least = head.a.first_key ? head.a.first_key[head.sample] : 0;
  BandRows made;
  for (int half = 0; half < 2; ++half) {
    const int64_t row = key + row_of(half * 2);
    made.begin[half] = place_of(head.first_seeing(row), queries);
    made.end[half] = row < least ? 0 : place_of(head.last_seeing(row), queries);
  }
  made.first = place_of(head.first_seeing(key + 15), queries);
  made.last = key < least ? 0 : place_of(head.last_seeing(key), queries);
  return made;
}

// A query, or a key, as masks ask of it.
struct PairEnd {
  bool there, shown = false, marked = false;  // shown: to all of the sample, as its prefix is
  int place, segment = 0;
};
template <class T>
__device__ PairEnd query_end(const AttentionHead<T>& head, int64_t query) {
  const AttentionPointers<T>& a = head.a;
  PairEnd made{.there = query < a.queries, .place = static_cast<int>(a.first_query + query)};
  const int64_t at = head.sample * a.queries + query;
  if (made.there && a.key_places) made.place = a.query_places[at];
  if (made.there && a.key_segments) made.segment = a.query_segments[at];
  return made;
}
template <class T>
__device__ PairEnd key_end(const AttentionHead<T>& head, int64_t key) {
  const AttentionPointers<T>& a = head.a;
  PairEnd made{.there = key < a.keys && (!a.first_key || key >= a.first_key[head.sample]),
               .place = static_cast<int>(key)};
  if (!made.there) return made;
  const int64_t at = head.sample * a.keys + key;
  if (a.key_places) made.place = a.key_places[at];
  if (a.key_segments) made.segment = a.key_segments[at];
  made.there = made.segment >= 0;
  made.shown = a.prefix && key < a.prefix[head.sample];
  made.marked = a.marked && a.marked[at];
  return made;
}

// Who sees whom in a masked tile (TileSight): bit 4 t + e is of element e of fragment t.
template <bool kRowsAreQueries, int kTiles, class T>
__device__ uint32_t seen_pairs(const AttentionHead<T>& head, int64_t query, int64_t key) {
  static_assert(kTiles * 4 <= 32);
  const AttentionPointers<T>& a = head.a;
  const auto sees = [&](const PairEnd& from, const PairEnd& to) {
    const int64_t apart = int64_t{from.place} - to.place;
    const bool near = -a.after <= apart && apart <= a.before;
    return from.there && to.there && from.segment == to.segment &&
           (near || to.shown || (to.marked && apart >= -a.marked_after));
  };
  const auto row_end = [&](int half) {
    return kRowsAreQueries ? query_end(head, query + row_of(half * 2))
                           : key_end(head, key + row_of(half * 2));
  };
  const PairEnd upper = row_end(0), lower = row_end(1);
  uint32_t seen = 0;
#pragma unroll 1
  for (int t = 0; t < kTiles; ++t)
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int column = column_of(t, side);
      const PairEnd other =
          kRowsAreQueries ? key_end(head, key + column) : query_end(head, query + column);
      const bool first = kRowsAreQueries ? sees(upper, other) : sees(other, upper),
                 second = kRowsAreQueries ? sees(lower, other) : sees(other, lower);
      seen |= uint32_t{first} << (t * 4 + side) | uint32_t{second} << (t * 4 + side + 2);
    }
  return seen;
}

// Products of queries and keys become scores in powers of two, those of pairs that see each other.
template <bool kRowsAreQueries, int kTiles, class T>
__device__ void add_bias(const AttentionHead<T>& head, int64_t query, int64_t key, uint32_t seen,
                         float (&products)[kTiles][4]) {
  const AttentionPointers<T>& a = head.a;
  const float* first = a.bias + head.bias_at(query, key);
  const int64_t by_row = kRowsAreQueries ? a.bias_row : 1,
                by_column = kRowsAreQueries ? 1 : a.bias_row;
#pragma unroll
  for (int i = 0; i < kTiles * 4; ++i) {
    const float bias =
        seen >> i & 1 ? first[row_of(i % 4) * by_row + column_of(i / 4, i % 4) * by_column] : 0.0f;
    products[i / 4][i % 4] = (products[i / 4][i % 4] * a.scale + bias) * kLog2E;
  }
}

// Fragments in memory that a loop can index. What patterns and dropout ask of an element is long:
// unrolled over a lane's elements it would not fit the cache of instructions.
template <int kTiles>
struct Parked {
  float at[kTiles * 4];

  __device__ explicit Parked(const float (&from)[kTiles][4]) {
#pragma unroll
    for (int i = 0; i < kTiles * 4; ++i) at[i] = from[i / 4][i % 4];
  }
  __device__ void restore(float (&to)[kTiles][4]) const {
#pragma unroll
    for (int i = 0; i < kTiles * 4; ++i) to[i / 4][i % 4] = at[i];
  }
};

template <class T>
__device__ void store_two(T* to, float first, float second) {
  *reinterpret_cast<uint32_t*>(to) = pair_of<T>(first, second);
}
__device__ inline void store_two(float* to, float first, float second) {
  to[0] = first;
  to[1] = second;
}

// f(e, kept): what dropout leaves of the four elements of fragment `tile` that this lane holds;
// rows are queries from `query` on and columns keys from `key` on, or the other way, and places are
// in order. One block of random bits is of four neighbouring keys: lanes that hold some of them
// draw in turn.
template <bool kRowsAreQueries, class T, class F>
__device__ void for_kept(const AttentionHead<T>& head, int64_t query, int64_t key, int tile,
                         const F& f) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            drawn = kRowsAreQueries ? lane % 2 * 2 : lane / 4 % 4;
  const DeviceBlock own =
      kRowsAreQueries ? head.draws(query + row_of(drawn), key + column_of(tile, 0))
                      : head.draws(query + column_of(tile, drawn), key + row_of(drawn) / 4 * 4);
#pragma unroll 1
  for (int e = 0; e < 4; ++e) {
    const int from = kRowsAreQueries ? lane / 2 * 2 + e / 2 : lane / 16 * 16 + e * 4 + lane % 4;
    DeviceBlock block;
#pragma unroll
    for (int w = 0; w < 4; ++w) block.word[w] = __shfl_sync(0xffffffffu, own.word[w], from);
    f(e, head.kept_by(word_of(block, kRowsAreQueries ? drawn + e % 2 : drawn)));
  }
}

// sums [16, kWidth] of a warp to rows of a head that exist, the upper eight times factors[0], the
// lower times factors[1].
template <int kWidth, class T>
__device__ void store_rows(const float (&sums)[kWidth / 8][4], const float (&factors)[2],
                           int64_t first, int64_t count, int64_t width, T* to,
                           const HeadRows& rows) {
#pragma unroll
  for (int tile = 0; tile < kWidth / 8; ++tile)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = first + row_of(half * 2), column = column_of(tile, 0);
      if (row >= count || column >= width) continue;
      const float factor = factors[half];
      store_two(to + rows.at(row) + column, sums[tile][half * 2] * factor,
                sums[tile][half * 2 + 1] * factor);
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
