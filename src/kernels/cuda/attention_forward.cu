#include "attention_mma.cuh"

namespace skein::kernels {
namespace {

// A block: kQueryTile queries of a head against tiles of keys, the softmax online (Dao and others,
// 2022).
template <class T>
__global__ void forward_tile(AttentionPointers<T> a, int pitch, T* out, float* level) {
  const AttentionHead<T> head{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y)};
  const int64_t query = static_cast<int64_t>(blockIdx.x) * kQueryTile,
                rows = a.queries - query < kQueryTile ? a.queries - query : kQueryTile;
  float* q = dynamic_shared<float>();
  float *k = q + kQueryTile * pitch, *v = k + kKeyTile * pitch, *sums = v + kKeyTile * pitch,
        *weights = sums + kQueryTile * pitch;
  __shared__ float largest[kQueryTile], total[kQueryTile], shrink[kQueryTile];
  const HeadRows q_rows = head.query_rows(), k_rows = head.key_rows();
  load_rows<kQueryTile>(a.q, query, a.queries, a.width, pitch, q, q_rows);
  for (int64_t i = threadIdx.x; i < kQueryTile * pitch; i += blockDim.x) sums[i] = 0;
  if (threadIdx.x < kQueryTile) {
    largest[threadIdx.x] = -INFINITY;
    total[threadIdx.x] = 0;
  }
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const int64_t end = head.end_of_keys(query, rows);
  const auto walk = keys_for<kKeyTile>(head, query, rows);
  for (int64_t i = 0; i < walk.count; ++i) {
    const int64_t from = walk.at(i);
    __syncthreads();
    // What no query sees may be NaN: a cache has memory for keys that do not exist yet.
    load_rows<kKeyTile>(a.k, from, end, a.width, pitch, k, k_rows);
    load_rows<kKeyTile>(a.v, from, end, a.width, pitch, v, k_rows);
    __syncthreads();
    for (int r = warp; r < kQueryTile; r += warps) {
      const bool seen = head.sees(query + r, from + lane);
      const float score = seen ? head.score(query + r, from + lane,
                                            dot(q + r * pitch, k + lane * pitch, a.width) * a.scale)
                               : -INFINITY;
      const float before = largest[r], top = fmaxf(before, warp_max(score));
      const float weight = seen ? expf(score - top) : 0.0f, sum = warp_sum(weight);
      weights[r * kKeyTile + lane] = seen ? weight * head.kept(query + r, from + lane) : 0.0f;
      __syncwarp();  // all lanes have read what one of them now writes
      if (lane > 0) continue;
      shrink[r] = top == -INFINITY ? 1.0f : expf(before - top);
      total[r] = total[r] * shrink[r] + sum;
      largest[r] = top;
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < kQueryTile * a.width; i += blockDim.x) {
      const int64_t r = i / a.width, d = i % a.width;
      float sum = sums[r * pitch + d] * shrink[r];
      for (int j = 0; j < kKeyTile; ++j) sum += weights[r * kKeyTile + j] * v[j * pitch + d];
      sums[r * pitch + d] = sum;
    }
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < rows * a.width; i += blockDim.x) {
    const int64_t r = i / a.width, d = i % a.width;
    store(out + q_rows.at(query + r) + d, total[r] == 0 ? 0.0f : sums[r * pitch + d] / total[r]);
  }
  if (threadIdx.x < rows)
    level[head.line_at(query + threadIdx.x)] =
        total[threadIdx.x] == 0 ? -INFINITY : largest[threadIdx.x] + logf(total[threadIdx.x]);
}

// The online softmax of a warp's sixteen rows; a lane holds parts of two of them.
struct Softmax {
  float top[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};

  // scores, times a positive `scale` in powers of two, become weights; `sums` so far shrink with
  // them.
  template <int kTiles, int kWide>
  __device__ void take(float (&scores)[kTiles][4], float scale, float (&sums)[kWide][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = -INFINITY, sum = 0;
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
        largest = fmaxf(largest, fmaxf(scores[t][half * 2], scores[t][half * 2 + 1]));
      largest = fmaxf(top[half], row_max(largest) * scale);
      const float base = largest == -INFINITY ? 0 : largest,
                  shrink = power_of_two(top[half] - base);
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int e = half * 2; e < half * 2 + 2; ++e)
          sum += scores[t][e] = power_of_two(scores[t][e] * scale - base);
#pragma unroll
      for (int t = 0; t < kWide; ++t) {
        sums[t][half * 2] *= shrink;
        sums[t][half * 2 + 1] *= shrink;
      }
      total[half] = total[half] * shrink + row_sum(sum);
      top[half] = largest;
    }
  }
};

// Products of sixteen queries with keys of a tile that they do not see become none.
template <int kTiles>
__device__ void mask(const BandRows& seen, int64_t from, float (&products)[kTiles][4]) {
  const int first = static_cast<int>(from);
#pragma unroll
  for (int t = 0; t < kTiles; ++t)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (!seen.has(e, first + column_of(t, e))) products[t][e] = -INFINITY;
}
// The same of pairs by their bits.
template <int kTiles>
__device__ void mask(uint32_t seen, float (&scores)[kTiles][4]) {
#pragma unroll
  for (int i = 0; i < kTiles * 4; ++i)
    if (!(seen >> i & 1)) scores[i / 4][i % 4] = -INFINITY;
}
// Products become scores in powers of two, whatever pattern and bias.
template <int kTiles, class T>
__device__ void make_scores(const AttentionHead<T>& head, int64_t query, int64_t from,
                            float (&scores)[kTiles][4]) {
  Parked parked(scores);
#pragma unroll 1
  for (int i = 0; i < kTiles * 4; ++i) {
    const int64_t row = query + row_of(i % 4), key = from + column_of(i / 4, i % 4);
    parked.at[i] = head.sees(row, key) ? head.score(row, key, parked.at[i] * head.a.scale) * kLog2E
                                       : -INFINITY;
  }
  parked.restore(scores);
}
template <int kTiles, class T>
__device__ void drop(const AttentionHead<T>& head, int64_t query, int64_t from,
                     float (&weights)[kTiles][4]) {
  Parked parked(weights);
#pragma unroll 1
  for (int t = 0; t < kTiles; ++t) {
    if (!head.a.key_places) {
      for_kept<true>(head, query, from, t,
                     [&](int e, float kept) { parked.at[t * 4 + e] *= kept; });
      continue;
    }
#pragma unroll 1
    for (int e = 0; e < 4; ++e)
      if (parked.at[t * 4 + e] != 0)
        parked.at[t * 4 + e] *= head.kept(query + row_of(e), from + column_of(t, e));
  }
  parked.restore(weights);
}

// A block: 64 queries of a head against tiles of keys, of which the next is on its way while one
// is at work.
template <class T, int kWidth, int kKeys>
__global__ void __launch_bounds__(kMmaThreads, kBlocks<kWidth>)
    forward_mma(AttentionPointers<T> a, T* out, float* level) {
  constexpr int kPitch = kTilePitch<kWidth>;
  const AttentionHead<T> head{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y)};
  // The last queries see the most keys when causal; they begin first.
  const int64_t query = static_cast<int64_t>(gridDim.x - 1 - blockIdx.x) * kMmaRows;
  const int64_t rows = a.queries - query < kMmaRows ? a.queries - query : kMmaRows;
  T* q = dynamic_shared<T>();
  T *k = q + kMmaRows * kPitch, *v = k + 2 * kKeys * kPitch;
  const int warp = threadIdx.x / kWarp, first_row = warp * 16;
  const int64_t end = head.end_of_keys(query, rows);
  const auto walk = keys_for<kKeys>(head, query, rows);
  const HeadRows q_rows = head.query_rows(), k_rows = head.key_rows();
  const auto fetch_keys = [&](int64_t from, int buffer) {
    fetch_tile<kKeys, kWidth>(a.k, from, end, a.width, k + buffer * kKeys * kPitch, k_rows);
    fetch_tile<kKeys, kWidth>(a.v, from, end, a.width, v + buffer * kKeys * kPitch, k_rows);
    end_of_copies();
  };
  float sums[kWidth / 8][4] = {};
  Softmax softmax;
  fetch_tile<kMmaRows, kWidth>(a.q, query, a.queries, a.width, q, q_rows);
  if (walk.count > 0)
    fetch_keys(walk.at(0), 0);
  else
    end_of_copies();
  const bool band = a.is_band() && !a.adds();
  const BandRows seen = keys_in_band(head, query + first_row);
  int buffer = 0;
  for (int64_t i = 0; i < walk.count; ++i, buffer ^= 1) {
    const int64_t from = walk.at(i);
    wait_for_tile(i + 1 < walk.count, [&] { fetch_keys(walk.at(i + 1), buffer ^ 1); });
    float scores[kKeys / 8][4] = {};
    multiply_rows<kKeys, kWidth>(scores, q + first_row * kPitch, k + buffer * kKeys * kPitch);
    const TileSight sight = walk.sight(i);
    bool products = true;  // still
    if (band) {
      if (!seen.all(from, kKeys)) mask(seen, from, scores);
    } else if (sight == TileSight::masked) {
      const uint32_t pairs = seen_pairs<true, kKeys / 8>(head, query + first_row, from);
      products = !a.bias;
      if (a.bias) add_bias<true>(head, query + first_row, from, pairs, scores);
      mask(pairs, scores);
    } else if (sight == TileSight::each) {
      products = false;
      make_scores(head, query + first_row, from, scores);
    }
    softmax.take(scores, products ? a.scale * kLog2E : 1.0f, sums);
    if (a.threshold) drop(head, query + first_row, from, scores);
    multiply_weights<kKeys, kWidth>(sums, scores, v + buffer * kKeys * kPitch);
  }
  wait_for_copies<0>();
  float inverse[2];
  for (int half = 0; half < 2; ++half) {
    const float total = softmax.total[half];
    inverse[half] = total == 0 ? 0 : 1 / total;
    const int64_t row = query + first_row + row_of(half * 2);
    if (threadIdx.x % 4 == 0 && row < a.queries)
      level[head.line_at(row)] = total == 0 ? -INFINITY : (softmax.top[half] + log2f(total)) * kLn2;
  }
  store_rows<kWidth>(sums, inverse, query + first_row, a.queries, a.width, out, q_rows);
}

template <class T>
void forward(Cuda on, const AttentionPointers<T>& a, int64_t samples, const Out& out,
             const Out& level) {
  if constexpr (sizeof(T) == 2) {
    if (fits_mma(a))
      return by_head_width(a.width, [&](auto width) {
        constexpr int kKeys = 64;
        const size_t shared =
            static_cast<size_t>(kMmaRows + 4 * kKeys) * kTilePitch<width> * sizeof(T);
        launch("attention", on, forward_mma<T, width, kKeys>,
               grid_of(pieces_of(a.queries, kMmaRows), a.heads, samples), kMmaThreads, shared, a,
               out->data<T>(), level->data<float>());
      });
  }
  const int pitch = pitch_of(a.width);
  const size_t shared =
      static_cast<size_t>((2 * kQueryTile + 2 * kKeyTile) * pitch + kQueryTile * kKeyTile) *
      sizeof(float);
  launch("attention", on, forward_tile<T>,
         grid_of(pieces_of(a.queries, kQueryTile), a.heads, samples), kAttentionThreads, shared, a,
         pitch, out->data<T>(), level->data<float>());
}

}  // namespace

void attention(Cuda on, const Tensor& q, const Tensor& k, const Tensor& v,
               const AttentionArguments& arguments, Out out, Out level) {
  visit_attended(q.dtype(), [&]<class T>(TypeTag<T>) {
    AttentionPointers<T> a = make_attend<T>(q, k, v, arguments);
    const AttentionSight sight = list_sight(on, q, arguments.pattern, false, a);
    forward(on, a, q.dim(0), out, level);
  });
}

}  // namespace skein::kernels
