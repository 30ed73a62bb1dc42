// The weights and slopes of a tile's pairs in attention's backward kernels on tensor cores.
// Internal to attention.
#pragma once

#include "attention_bias.cuh"
#include "attention_mma.cuh"

namespace skein::kernels {

// What is kept of a tile of queries, in shared memory; levels in powers of two.
template <int kQueries>
struct QueryLines {
  float level[kQueries], along[kQueries];

  template <class T>
  __device__ void load(const AttentionHead<T>& head, const float* levels, const float* alongs,
                       int64_t query) {
    for (int i = threadIdx.x; i < kQueries; i += blockDim.x) {
      const bool there = query + i < head.a.queries;
      level[i] = there ? levels[head.line_at(query + i)] * kLog2E : 0.0f;
      along[i] = there ? alongs[head.line_at(query + i)] : 0.0f;
    }
  }
};

// The pairs of a warp's fragments: rows are queries and columns keys, or the other way.
template <bool kRowsAreQueries>
struct Pairs {
  int64_t query, key;          // of row and column 0
  const float *level, *along;  // of the queries from there on

  __device__ static int query_of(int row, int column) { return kRowsAreQueries ? row : column; }
  __device__ static int key_of(int row, int column) { return kRowsAreQueries ? column : row; }
};

// Products of queries and keys become weights; with no dropout, slopes of the weights become those
// of the scores.
template <bool kMasked, bool kRowsAreQueries, int kTiles, class T>
__device__ void weigh_plainly(const AttentionHead<T>& head, const Pairs<kRowsAreQueries>& pairs,
                              const BandRows& seen, float (&scores)[kTiles][4],
                              float (&slopes)[kTiles][4]) {
  const int first = static_cast<int>(kRowsAreQueries ? pairs.key : pairs.query);
  const float scale = head.a.scale * kLog2E;
  const bool dropped = head.a.threshold != 0;
#pragma unroll
  for (int t = 0; t < kTiles; ++t)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int column = column_of(t, e), query = pairs.query_of(row_of(e), column);
      const float weight = power_of_two(scores[t][e] * scale - pairs.level[query]);
      scores[t][e] = !kMasked || seen.has(e, first + column) ? weight : 0.0f;
      if (!dropped) slopes[t][e] = scores[t][e] * (slopes[t][e] - pairs.along[query]);
    }
}

// The same of a masked tile (TileSight).
template <bool kRowsAreQueries, int kTiles, class T>
__device__ void weigh_masked(const AttentionHead<T>& head, const Pairs<kRowsAreQueries>& pairs,
                             float (&scores)[kTiles][4], float (&slopes)[kTiles][4]) {
  const AttentionPointers<T>& a = head.a;
  const uint32_t seen = seen_pairs<kRowsAreQueries, kTiles>(head, pairs.query, pairs.key);
  if (a.bias) add_bias<kRowsAreQueries>(head, pairs.query, pairs.key, seen, scores);
  const float scale = a.bias ? 1.0f : a.scale * kLog2E;
  const bool dropped = a.threshold != 0;
#pragma unroll
  for (int t = 0; t < kTiles; ++t)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int query = pairs.query_of(row_of(e), column_of(t, e));
      const float weight = power_of_two(scores[t][e] * scale - pairs.level[query]);
      scores[t][e] = seen >> (t * 4 + e) & 1 ? weight : 0.0f;
      if (!dropped) slopes[t][e] = scores[t][e] * (slopes[t][e] - pairs.along[query]);
    }
}

// The same of plain weights with dropout.
template <bool kRowsAreQueries, int kTiles, class T>
__device__ void weigh_dropped(const AttentionHead<T>& head, const Pairs<kRowsAreQueries>& pairs,
                              float (&scores)[kTiles][4], float (&slopes)[kTiles][4]) {
  Parked weights(scores), gradients(slopes);
#pragma unroll 1
  for (int t = 0; t < kTiles; ++t) {
    for_kept<kRowsAreQueries>(head, pairs.query, pairs.key, t, [&](int e, float kept) {
      float &weight = weights.at[t * 4 + e], &gradient = gradients.at[t * 4 + e];
      const float along = pairs.along[pairs.query_of(row_of(e), column_of(t, e))];
      gradient = weight * (gradient * kept - along);
      weight *= kept;
    });
  }
  weights.restore(scores);
  gradients.restore(slopes);
}

// The same of any pattern.
template <bool kRowsAreQueries, int kTiles, class T>
__device__ void weigh_each(const AttentionHead<T>& head, const Pairs<kRowsAreQueries>& pairs,
                           float (&scores)[kTiles][4], float (&slopes)[kTiles][4]) {
  Parked weights(scores), gradients(slopes);
#pragma unroll 1
  for (int i = 0; i < kTiles * 4; ++i) {
    const int row = row_of(i % 4), column = column_of(i / 4, i % 4),
              line = pairs.query_of(row, column);
    const int64_t query = pairs.query + line, key = pairs.key + pairs.key_of(row, column);
    float &weight = weights.at[i], &gradient = gradients.at[i];
    const PairSlopes made = head.sees(query, key)
                                ? slopes_of(head, query, key, weight, gradient,
                                            pairs.level[line] * kLn2, pairs.along[line])
                                : PairSlopes{0, 0};
    weight = made.weight;
    gradient = made.slope;
  }
  weights.restore(scores);
  gradients.restore(slopes);
}

// Of a tile: products of queries and keys become weights as they met the values, products of
// gradients and values the slopes of the scores. band: of a pattern that is one, with plain scores,
// of which `seen` shows those that are seen.
template <bool kRowsAreQueries, int kTiles, class T>
__device__ void weigh(const AttentionHead<T>& head, const Pairs<kRowsAreQueries>& pairs, bool band,
                      TileSight sight, const BandRows& seen, float (&scores)[kTiles][4],
                      float (&slopes)[kTiles][4]) {
  // Permuted places draw apart.
  if ((!band && sight == TileSight::each) || (head.a.threshold && head.a.key_places))
    return weigh_each(head, pairs, scores, slopes);
  if (sight == TileSight::whole)
    weigh_plainly<false>(head, pairs, seen, scores, slopes);
  else if (band)
    weigh_plainly<true>(head, pairs, seen, scores, slopes);
  else
    weigh_masked(head, pairs, scores, slopes);
  if (head.a.threshold) weigh_dropped(head, pairs, scores, slopes);
}

}  // namespace skein::kernels
