// Which tiles of queries may see which tiles of keys, listed before the kernels of attention run:
// so their time grows with what is seen. Internal to attention.
#pragma once

#include "attention_head.cuh"

namespace skein::kernels {

constexpr int kSightThreads = 128;

// Smallest and largest of values[first, last), negative ones left out where `positive`.
struct Bounds {
  int32_t low = INT32_MAX, high = INT32_MIN;

  __device__ Bounds(const int32_t* values, int64_t first, int64_t last, bool positive) {
    for (int64_t i = first; i < last; ++i) {
      const int32_t value = values[i];
      if (positive && value < 0) continue;
      low = value < low ? value : low;
      high = value > high ? value : high;
    }
  }
};

// Places from the query in rows [query, queries_end) back to the key in [key, keys_end), at least
// and at most.
struct Distances {
  int64_t nearest, farthest;

  template <class T>
  __device__ Distances(const AttentionHead<T>& head, int64_t query, int64_t queries_end,
                       int64_t key, int64_t keys_end) {
    const AttentionPointers<T>& a = head.a;
    nearest = a.first_query + query - (keys_end - 1);
    farthest = a.first_query + queries_end - 1 - key;
    if (!a.key_places) return;
    const Bounds of_queries(a.query_places + head.sample * a.queries, query, queries_end, false),
        of_keys(a.key_places + head.sample * a.keys, key, keys_end, false);
    nearest = int64_t{of_queries.low} - of_keys.high;
    farthest = int64_t{of_queries.high} - of_keys.low;
  }
};

// Whether one of the keys [key, keys_end) is in a block that the query's list names.
template <class T>
__device__ bool lists_one(const AttentionHead<T>& head, int64_t query, int64_t key,
                          int64_t keys_end) {
  const int64_t origin = head.origin_of(query), first = key > origin ? key - origin : 0;
  if (keys_end <= origin) return false;
  const int32_t* end;
  const int32_t* at = head.listed_from(query, first / head.a.block, end);
  return at < end && *at <= (keys_end - 1 - origin) / head.a.block;
}

// Whether band and lists may show one of the keys [key, keys_end) to one of the queries.
template <class T>
__device__ bool may_be_near(const AttentionHead<T>& head, int64_t query, int64_t queries_end,
                            int64_t key, int64_t keys_end) {
  const AttentionPointers<T>& a = head.a;
  const Distances apart(head, query, queries_end, key, keys_end);
  if (apart.farthest < -a.after || apart.nearest > a.before) return false;
  if (!a.block) return true;
  // Queries of one list stand together where there are no rows.
  const int64_t apart_by = a.list_rows ? 1 : a.block;
  for (int64_t i = query / apart_by * apart_by; i < queries_end; i += apart_by)
    if (lists_one(head, i, key, keys_end)) return true;
  return false;
}

template <class T>
__device__ bool may_see(const AttentionHead<T>& head, int64_t query_tile, int64_t key_tile) {
  const AttentionPointers<T>& a = head.a;
  const int64_t query = query_tile * kSightTile, key = key_tile * kSightTile,
                queries_end = query + kSightTile < a.queries ? query + kSightTile : a.queries,
                keys_end = key + kSightTile < a.keys ? key + kSightTile : a.keys;
  if (a.first_key && keys_end <= a.first_key[head.sample]) return false;
  if (a.key_segments) {
    const Bounds of_queries(a.query_segments + head.sample * a.queries, query, queries_end, true),
        of_keys(a.key_segments + head.sample * a.keys, key, keys_end, true);
    if (of_queries.high < of_keys.low || of_keys.high < of_queries.low) return false;
  }
  if (may_be_near(head, query, queries_end, key, keys_end)) return true;
  if (a.prefix && key < a.prefix[head.sample]) return true;
  for (int64_t j = key; a.marked && j < keys_end; ++j)
    if (a.marked[head.sample * a.keys + j]) return true;
  return false;
}

// Rows of a tile, [first, last).
struct TileRows {
  int64_t first, last;

  __device__ TileRows(int64_t tile, int64_t count)
      : first(tile * kSightTile), last(first + kSightTile < count ? first + kSightTile : count) {}
  __device__ bool full() const { return last - first == kSightTile; }
  __device__ bool in_one_block(int64_t size) const { return first / size == (last - 1) / size; }
};

// Whether lists say the same of all pairs of two tiles, that they see each other once.
template <class T>
__device__ bool listed_once(const AttentionHead<T>& head, const TileRows& queries,
                            const TileRows& keys) {
  const int64_t size = head.a.block;
  return !size || (!head.a.list_rows && queries.in_one_block(size) && keys.in_one_block(size) &&
                   head.listed_times(queries.first, keys.first) == 1);
}

// Whether all of the two tiles see each other, as far as their bounds tell; lists aside.
template <class T>
__device__ bool all_see(const AttentionHead<T>& head, const TileRows& queries, const TileRows& keys,
                        const Distances& apart) {
  const AttentionPointers<T>& a = head.a;
  if (!queries.full() || !keys.full()) return false;
  if (a.first_key && keys.first < a.first_key[head.sample]) return false;
  if (a.key_segments) {
    const Bounds of_queries(a.query_segments + head.sample * a.queries, queries.first, queries.last,
                            false),
        of_keys(a.key_segments + head.sample * a.keys, keys.first, keys.last, false);
    if (of_keys.low < 0 || of_keys.low != of_queries.high || of_keys.high != of_queries.low)
      return false;
  }
  if (a.prefix && keys.last <= a.prefix[head.sample]) return true;
  return apart.nearest >= -a.after && apart.farthest <= a.before;
}

// Of two tiles that may see each other.
template <class T>
__device__ TileSight sight_between(const AttentionHead<T>& head, int64_t query_tile,
                                   int64_t key_tile) {
  const AttentionPointers<T>& a = head.a;
  const TileRows queries(query_tile, a.queries), keys(key_tile, a.keys);
  const Distances apart(head, queries.first, queries.last, keys.first, keys.last);
  const bool own_place = apart.nearest <= 0 && apart.farthest >= 0;
  if (!(a.scale > 0) || (a.self_last && own_place) || !listed_once(head, queries, keys))
    return TileSight::each;
  return !a.bias && all_see(head, queries, keys, apart) ? TileSight::whole : TileSight::masked;
}

// A block: one row of the lists, whose numbers rise. Of tiles of keys, or of queries.
template <class T, bool kOfKeys>
__global__ void list_tiles(AttentionPointers<T> a, TileLists lists) {
  const AttentionHead<T> head{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y)};
  const int64_t tile = blockIdx.x, row = (head.sample * a.sets + blockIdx.y) * lists.rows + tile;
  __shared__ int32_t seen[kSightThreads];
  int32_t count = 0;
  for (int64_t from = 0; from < lists.columns; from += kSightThreads) {
    const int64_t other = from + threadIdx.x;
    const int64_t queries = kOfKeys ? tile : other, keys = kOfKeys ? other : tile;
    seen[threadIdx.x] = 0;
    if (other < lists.columns && may_see(head, queries, keys))
      seen[threadIdx.x] = 1 + static_cast<int32_t>(sight_between(head, queries, keys));
    __syncthreads();
    if (threadIdx.x == 0)
      for (int i = 0; i < kSightThreads; ++i)
        if (seen[i])
          lists.numbers[row * lists.columns + count++] =
              static_cast<int32_t>(from + i) * kTileSights + seen[i] - 1;
    __syncthreads();
  }
  if (threadIdx.x == 0) lists.counts[row] = count;
}

// alone [B,sets,T]: whether a query sees nothing but keys of its own place, of those that its tile
// looks at. A warp a query.
template <class T>
__global__ void find_alone(AttentionPointers<T> a, int32_t* alone) {
  const AttentionHead<T> head{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y)};
  const int64_t query =
      static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  if (query >= a.queries) return;
  const auto walk = keys_for<kSightTile>(head, query, 1);
  float others = 0;
  for (int64_t i = 0; i < walk.count; ++i)
    for (int64_t j = threadIdx.x % kWarp; j < kSightTile; j += kWarp)
      others += head.times(query, walk.at(i) + j) > 0;
  others = warp_sum(others);
  if (threadIdx.x % kWarp == 0)
    alone[(head.sample * a.sets + head.set()) * a.queries + query] = others == 0;
}

// The memory of the lists that pointers lead to.
struct AttentionSight {
  Tensor key_tiles, key_counts, query_tiles, query_counts, alone;
};

// Makes lists for a pattern that is more than a band, of tiles of queries too where `backward`.
template <class T>
AttentionSight list_sight(Cuda on, const Tensor& q, const Pattern& pattern, bool backward,
                          AttentionPointers<T>& a) {
  AttentionSight made;
  if (pattern.is_band()) return made;
  const int64_t samples = q.dim(0), rows = pieces_of(a.queries, kSightTile),
                columns = pieces_of(a.keys, kSightTile);
  const auto list = [&](int64_t own, int64_t others, Tensor& numbers, Tensor& counts, auto kernel) {
    numbers = Tensor::empty({samples, a.sets, own, others}, DType::i32, q.device());
    counts = Tensor::empty({samples, a.sets, own}, DType::i32, q.device());
    const TileLists lists{numbers.data<int32_t>(), counts.data<int32_t>(), own, others};
    launch("attention's tiles", on, kernel, grid_of(own, a.sets, samples), kSightThreads, 0, a,
           lists);
    return lists;
  };
  a.key_tiles = list(rows, columns, made.key_tiles, made.key_counts, list_tiles<T, true>);
  if (backward)
    a.query_tiles = list(columns, rows, made.query_tiles, made.query_counts, list_tiles<T, false>);
  if (pattern.self_last) {
    made.alone = Tensor::empty({samples, a.sets, a.queries}, DType::i32, q.device());
    launch("attention's lone queries", on, find_alone<T>,
           grid_of(pieces_of(a.queries, kSightThreads / kWarp), a.sets, samples), kSightThreads, 0,
           a, made.alone.data<int32_t>());
    a.alone = made.alone.data<int32_t>();
  }
  return made;
}

}  // namespace skein::kernels
