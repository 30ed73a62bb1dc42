#include "attention_bias.cuh"
#include "attention_mma.cuh"

namespace skein::kernels {
namespace {

// The tiles both backward kernels hold, in dynamic shared memory.
struct Tiles {
  float *q, *dout, *k, *v, *weights, *slopes;

  __device__ explicit Tiles(int pitch) {
    q = dynamic_shared<float>();
    dout = q + kQueryTile * pitch;
    k = dout + kQueryTile * pitch;
    v = k + kKeyTile * pitch;
    weights = v + kKeyTile * pitch;
    slopes = weights + kQueryTile * kKeyTile;
  }
  static size_t bytes(int pitch, int more) {
    return static_cast<size_t>((2 * kQueryTile + 2 * kKeyTile) * pitch + 2 * kQueryTile * kKeyTile +
                               more) *
           sizeof(float);
  }
};

template <class T>
__device__ void load_queries(const AttentionHead<T>& head, const Slopes<T>& s, int64_t query,
                             int pitch, const Tiles& tiles) {
  const auto at = [&](int64_t row) { return head.q_at(row); };
  load_rows<kQueryTile>(head.a.q, query, head.a.queries, head.a.width, pitch, tiles.q, at);
  load_rows<kQueryTile>(s.dout, query, head.a.queries, head.a.width, pitch, tiles.dout, at);
}

template <class T>
__device__ void load_keys(const AttentionHead<T>& head, int64_t from, int pitch,
                          const Tiles& tiles) {
  const auto at = [&](int64_t row) { return head.kv_at(row); };
  load_rows<kKeyTile>(head.a.k, from, head.a.keys, head.a.width, pitch, tiles.k, at);
  load_rows<kKeyTile>(head.a.v, from, head.a.keys, head.a.width, pitch, tiles.v, at);
}

// The part of a query's slopes that is common to its keys: dout · out, less the level's gradient.
__device__ inline float common_part(float product, const float* dlevel, int64_t line) {
  return dlevel ? product - dlevel[line] : product;
}

template <class T>
__device__ void load_along(const AttentionHead<T>& head, const Slopes<T>& s, int64_t query,
                           float* along) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  for (int r = warp; r < kQueryTile; r += warps) {
    float sum = 0;
    if (query + r < head.a.queries)
      for (int64_t d = lane; d < head.a.width; d += kWarp)
        sum += load(s.dout + head.q_at(query + r) + d) * load(s.out + head.q_at(query + r) + d);
    sum = warp_sum(sum);
    if (lane == 0 && query + r < head.a.queries)
      along[r] = common_part(sum, s.dlevel, head.line_at(query + r));
  }
}

// Of the tile: weights as they met the values (dropped), and slopes of the scores times scale.
template <class T>
__device__ void fill_slopes(const AttentionHead<T>& head, const Slopes<T>& s, int64_t query,
                            int64_t from, int pitch, const Tiles& tiles, const float* along) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  for (int r = warp; r < kQueryTile; r += warps) {
    float weight = 0, slope = 0;
    if (head.sees(query + r, from + lane)) {
      const PairSlopes made =
          slopes_of(head, query + r, from + lane,
                    dot(tiles.q + r * pitch, tiles.k + lane * pitch, head.a.width),
                    dot(tiles.dout + r * pitch, tiles.v + lane * pitch, head.a.width),
                    s.level[head.line_at(query + r)], along[r]);
      weight = made.weight;
      slope = made.slope * head.a.scale;
    }
    tiles.weights[r * kKeyTile + lane] = weight;
    tiles.slopes[r * kKeyTile + lane] = slope;
  }
}

template <class T>
__global__ void query_gradients(AttentionPointers<T> a, Slopes<T> s, int pitch) {
  const AttentionHead<T> head{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y)};
  const int64_t query = static_cast<int64_t>(blockIdx.x) * kQueryTile,
                rows = a.queries - query < kQueryTile ? a.queries - query : kQueryTile;
  const Tiles tiles(pitch);
  float* sums = tiles.slopes + kQueryTile * kKeyTile;
  __shared__ float along[kQueryTile];
  load_queries(head, s, query, pitch, tiles);
  load_along(head, s, query, along);
  for (int64_t i = threadIdx.x; i < kQueryTile * pitch; i += blockDim.x) sums[i] = 0;
  const TileWalk walk = keys_for(head, query, rows, kKeyTile);
  for (int64_t i = 0; i < walk.count; ++i) {
    const int64_t from = walk.at(i);
    __syncthreads();
    load_keys(head, from, pitch, tiles);
    __syncthreads();
    fill_slopes(head, s, query, from, pitch, tiles, along);
    __syncthreads();
    for (int64_t i = threadIdx.x; i < kQueryTile * a.width; i += blockDim.x) {
      const int64_t r = i / a.width, d = i % a.width;
      float sum = sums[r * pitch + d];
      for (int j = 0; j < kKeyTile; ++j)
        sum += tiles.slopes[r * kKeyTile + j] * tiles.k[j * pitch + d];
      sums[r * pitch + d] = sum;
    }
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < rows * a.width; i += blockDim.x)
    store(s.dq + head.q_at(query + i / a.width) + i % a.width,
          sums[i / a.width * pitch + i % a.width]);
}

// A block: a tile of keys of one key head against all queries of the heads that share it, in order;
// so there are no atomics.
template <class T>
__global__ void key_gradients(AttentionPointers<T> a, Slopes<T> s, int pitch) {
  const int64_t shared = a.heads / a.groups, from = static_cast<int64_t>(blockIdx.x) * kKeyTile;
  const Tiles tiles(pitch);
  float *key_sums = tiles.slopes + kQueryTile * kKeyTile, *value_sums = key_sums + kKeyTile * pitch;
  __shared__ float along[kQueryTile];
  for (int64_t i = threadIdx.x; i < 2 * kKeyTile * pitch; i += blockDim.x) key_sums[i] = 0;
  const AttentionHead<T> keys{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y) * shared};
  load_keys(keys, from, pitch, tiles);
  for (int64_t h = 0; h < shared; ++h) {
    const AttentionHead<T> head{a, keys.sample, keys.head + h};
    const TileWalk walk = queries_for(head, from, kKeyTile, kQueryTile);
    for (int64_t i = 0; i < walk.count; ++i) {
      const int64_t query = walk.at(i);
      __syncthreads();
      load_queries(head, s, query, pitch, tiles);
      load_along(head, s, query, along);
      __syncthreads();
      fill_slopes(head, s, query, from, pitch, tiles, along);
      __syncthreads();
      for (int64_t i = threadIdx.x; i < kKeyTile * a.width; i += blockDim.x) {
        const int64_t j = i / a.width, d = i % a.width;
        float key = key_sums[j * pitch + d], value = value_sums[j * pitch + d];
        for (int r = 0; r < kQueryTile; ++r) {
          key += tiles.slopes[r * kKeyTile + j] * tiles.q[r * pitch + d];
          value += tiles.weights[r * kKeyTile + j] * tiles.dout[r * pitch + d];
        }
        key_sums[j * pitch + d] = key;
        value_sums[j * pitch + d] = value;
      }
    }
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < kKeyTile * a.width; i += blockDim.x) {
    const int64_t j = i / a.width, d = i % a.width;
    if (from + j >= a.keys) continue;
    store(s.dk + keys.kv_at(from + j) + d, key_sums[j * pitch + d]);
    store(s.dv + keys.kv_at(from + j) + d, value_sums[j * pitch + d]);
  }
}

// along [B,H,T]: the part of a query's slopes that is common to its keys. A warp a query.
template <class T>
__global__ void common_slopes(AttentionPointers<T> a, Slopes<T> s, float* along) {
  const AttentionHead<T> head{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y)};
  const int64_t query =
      static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  if (query >= a.queries) return;
  const T *given = s.dout + head.q_at(query), *made = s.out + head.q_at(query);
  float sum = 0;
  for (int64_t d = threadIdx.x % kWarp; d < a.width; d += kWarp)
    sum += load(given + d) * load(made + d);
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0)
    along[head.line_at(query)] = common_part(sum, s.dlevel, head.line_at(query));
}

// What is kept of the queries of a head.
struct QueryLines {
  const float *level, *along;
};

// Of one pair of a query and a key that see each other, from their score and the slope of their
// weight: the weight as it met the value, and the slope of the score.
template <class T>
__device__ void pair_slopes(const AttentionHead<T>& head, const QueryLines& lines, int64_t query,
                            int64_t key, bool seen, float& score, float& slope) {
  if (!seen && !head.sees(query, key)) {
    score = slope = 0;
    return;
  }
  const PairSlopes made =
      slopes_of(head, query, key, score, slope, lines.level[query], lines.along[query]);
  score = made.weight;
  slope = made.slope * head.a.scale;
}

// A block: 64 queries against tiles of keys.
template <class T, int kWidth, int kKeys>
__global__ void __launch_bounds__(kMmaThreads)
    query_gradients_mma(AttentionPointers<T> a, Slopes<T> s, const float* along) {
  constexpr int kPitch = kTilePitch<kWidth>;
  const AttentionHead<T> head{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y)};
  const int64_t query = static_cast<int64_t>(gridDim.x - 1 - blockIdx.x) * kMmaRows;
  const QueryLines lines{s.level + head.line_at(0), along + head.line_at(0)};
  const int64_t rows = a.queries - query < kMmaRows ? a.queries - query : kMmaRows;
  T* q = dynamic_shared<T>();
  T *dout = q + kMmaRows * kPitch, *k = dout + kMmaRows * kPitch, *v = k + 2 * kKeys * kPitch;
  const int first_row = threadIdx.x / kWarp * 16;
  const auto q_at = [&](int64_t row) { return head.q_at(row); };
  const auto fetch_keys = [&](int64_t from, int buffer) {
    const auto at = [&](int64_t row) { return head.kv_at(row); };
    fetch_tile<kKeys, kWidth>(a.k, from, a.keys, a.width, k + buffer * kKeys * kPitch, at);
    fetch_tile<kKeys, kWidth>(a.v, from, a.keys, a.width, v + buffer * kKeys * kPitch, at);
    end_of_copies();
  };
  float sums[kWidth / 8][4] = {};
  const TileWalk walk = keys_for(head, query, rows, kKeys);
  fetch_tile<kMmaRows, kWidth>(a.q, query, a.queries, a.width, q, q_at);
  fetch_tile<kMmaRows, kWidth>(s.dout, query, a.queries, a.width, dout, q_at);
  if (walk.count > 0)
    fetch_keys(walk.at(0), 0);
  else
    end_of_copies();
  int buffer = 0;
  for (int64_t i = 0; i < walk.count; ++i, buffer ^= 1) {
    const int64_t from = walk.at(i);
    wait_for_tile(i + 1 < walk.count, [&] { fetch_keys(walk.at(i + 1), buffer ^ 1); });
    float scores[kKeys / 8][4] = {}, slopes[kKeys / 8][4] = {};
    multiply_rows<kKeys, kWidth>(scores, q + first_row * kPitch, k + buffer * kKeys * kPitch);
    multiply_rows<kKeys, kWidth>(slopes, dout + first_row * kPitch, v + buffer * kKeys * kPitch);
    const bool whole = all_see(head, query + first_row, 16, from, kKeys);
#pragma unroll
    for (int t = 0; t < kKeys / 8; ++t)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        pair_slopes(head, lines, query + first_row + row_of(e), from + column_of(t, e), whole,
                    scores[t][e], slopes[t][e]);
    multiply_weights<kKeys, kWidth>(sums, slopes, k + buffer * kKeys * kPitch);
    __syncthreads();
  }
  wait_for_copies<0>();
  const float whole_rows[2] = {1, 1};
  store_rows<kWidth>(sums, whole_rows, query + first_row, a.queries, a.width, s.dq, q_at);
}

// A block: 64 keys of one key head against tiles of queries of the heads that share it, in order;
// so there are no atomics. Rows of fragments are keys here, columns queries.
template <class T, int kWidth, int kQueries>
__global__ void __launch_bounds__(kMmaThreads)
    key_gradients_mma(AttentionPointers<T> a, Slopes<T> s, const float* along) {
  constexpr int kPitch = kTilePitch<kWidth>;
  const int64_t shared = a.heads / a.groups, from = static_cast<int64_t>(blockIdx.x) * kMmaRows;
  const AttentionHead<T> keys{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y) * shared};
  const auto kv_at = [&](int64_t row) { return keys.kv_at(row); };
  T* k = dynamic_shared<T>();
  T *v = k + kMmaRows * kPitch, *q = v + kMmaRows * kPitch, *dout = q + 2 * kQueries * kPitch;
  const int first_row = threadIdx.x / kWarp * 16;
  fetch_tile<kMmaRows, kWidth>(a.k, from, a.keys, a.width, k, kv_at);
  fetch_tile<kMmaRows, kWidth>(a.v, from, a.keys, a.width, v, kv_at);
  const auto walk_of = [&](int64_t h) {
    return queries_for(AttentionHead<T>{a, keys.sample, keys.head + h}, from, kMmaRows, kQueries);
  };
  // The tile `at.tile` of queries of the head keys.head + at.head; past the last head at the end.
  struct Turn {
    int64_t head, tile;
  };
  const auto from_turn = [&](Turn at) {
    while (at.head < shared && at.tile >= walk_of(at.head).count) at = {at.head + 1, 0};
    return at;
  };
  const auto fetch_queries = [&](const Turn& turn, int buffer) {
    const AttentionHead<T> head{a, keys.sample, keys.head + turn.head};
    const auto at = [&](int64_t row) { return head.q_at(row); };
    const int64_t query = walk_of(turn.head).at(turn.tile), place = buffer * kQueries * kPitch;
    fetch_tile<kQueries, kWidth>(a.q, query, a.queries, a.width, q + place, at);
    fetch_tile<kQueries, kWidth>(s.dout, query, a.queries, a.width, dout + place, at);
    end_of_copies();
  };
  float key_sums[kWidth / 8][4] = {}, value_sums[kWidth / 8][4] = {};
  Turn turn = from_turn({0, 0});
  // Keys that nobody sees have been fetched in vain, but a block must not end before its copies.
  if (turn.head < shared)
    fetch_queries(turn, 0);
  else
    end_of_copies();
  for (int buffer = 0; turn.head < shared; buffer ^= 1) {
    const Turn next = from_turn({turn.head, turn.tile + 1});
    wait_for_tile(next.head < shared, [&] { fetch_queries(next, buffer ^ 1); });
    const AttentionHead<T> head{a, keys.sample, keys.head + turn.head};
    const int64_t query = walk_of(turn.head).at(turn.tile);
    const QueryLines lines{s.level + head.line_at(0), along + head.line_at(0)};
    const T *queries = q + buffer * kQueries * kPitch, *given = dout + buffer * kQueries * kPitch;
    float scores[kQueries / 8][4] = {}, slopes[kQueries / 8][4] = {};
    multiply_rows<kQueries, kWidth>(scores, k + first_row * kPitch, queries);
    multiply_rows<kQueries, kWidth>(slopes, v + first_row * kPitch, given);
    const bool whole = all_see(head, query, kQueries, from + first_row, 16);
#pragma unroll
    for (int t = 0; t < kQueries / 8; ++t)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        pair_slopes(head, lines, query + column_of(t, e), from + first_row + row_of(e), whole,
                    scores[t][e], slopes[t][e]);
    multiply_weights<kQueries, kWidth>(value_sums, scores, given);
    multiply_weights<kQueries, kWidth>(key_sums, slopes, queries);
    __syncthreads();
    turn = next;
  }
  wait_for_copies<0>();
  const float whole_rows[2] = {1, 1};
  store_rows<kWidth>(key_sums, whole_rows, from + first_row, a.keys, a.width, s.dk, kv_at);
  store_rows<kWidth>(value_sums, whole_rows, from + first_row, a.keys, a.width, s.dv, kv_at);
}

// Tiles that leave a lane enough registers.
template <class T, int kWidth>
void backward_mma(Cuda on, const AttentionPointers<T>& a, const Slopes<T>& slopes, int64_t samples,
                  const float* along) {
  constexpr int kOther = kWidth > 64 ? 32 : 64;
  constexpr size_t kShared =
      static_cast<size_t>(2 * kMmaRows + 4 * kOther) * kTilePitch<kWidth> * sizeof(T);
  launch("attention_backward of queries", on, query_gradients_mma<T, kWidth, kOther>,
         grid_of(pieces_of(a.queries, kMmaRows), a.heads, samples), kMmaThreads, kShared, a, slopes,
         along);
  launch("attention_backward of keys", on, key_gradients_mma<T, kWidth, kOther>,
         grid_of(pieces_of(a.keys, kMmaRows), a.groups, samples), kMmaThreads, kShared, a, slopes,
         along);
}

template <class T>
void backward(Cuda on, const AttentionPointers<T>& a, const Slopes<T>& slopes, int64_t samples,
              Device device) {
  Tensor along;
  if (fits_mma(a) || slopes.dbias) {
    along = Tensor::empty({samples, a.heads, a.queries}, DType::f32, device);
    constexpr int kThreads = 256;
    const dim3 grid = grid_of(pieces_of(a.queries, kThreads / kWarp), a.heads, samples);
    launch("attention_backward's common slopes", on, common_slopes<T>, grid, kThreads, 0, a, slopes,
           along.data<float>());
  }
  if (slopes.dbias) bias_backward(on, a, slopes, samples, along.data<float>());
  if constexpr (sizeof(T) == 2) {
    if (fits_mma(a))
      return by_head_width(a.width, [&](auto width) {
        backward_mma<T, width>(on, a, slopes, samples, along.data<float>());
      });
  }
  const int pitch = pitch_of(a.width);
  launch("attention_backward of queries", on, query_gradients<T>,
         grid_of(pieces_of(a.queries, kQueryTile), a.heads, samples), kAttentionThreads,
         Tiles::bytes(pitch, kQueryTile * pitch), a, slopes, pitch);
  launch("attention_backward of keys", on, key_gradients<T>,
         grid_of(pieces_of(a.keys, kKeyTile), a.groups, samples), kAttentionThreads,
         Tiles::bytes(pitch, 2 * kKeyTile * pitch), a, slopes, pitch);
}

}  // namespace

void attention_backward(Cuda on, const AttentionRecord& forward,
                        const AttentionArguments& arguments, const AttentionGradient& gradient,
                        const AttentionOuts& to) {
  const Tensor& q = forward.q;
  visit_attended(q.dtype(), [&]<class T>(TypeTag<T>) {
    AttentionPointers<T> a = make_attend<T>(q, forward.k, forward.v, arguments);
    const AttentionSight sight = list_sight(on, q, arguments.pattern, true, a);
    backward<T>(on, a,
                {forward.out.data<T>(), gradient.out.data<T>(), forward.level.data<float>(),
                 gradient.level.data_or_null<float>(), to.q->data<T>(), to.k->data<T>(),
                 to.v->data<T>(), to.bias->data_or_null<float>()},
                q.dim(0), q.device());
  });
}

}  // namespace skein::kernels
