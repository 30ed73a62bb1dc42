#include "attention_bias.cuh"
#include "attention_weights.cuh"

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
  const HeadRows rows = head.query_rows();
  load_rows<kQueryTile>(head.a.q, query, head.a.queries, head.a.width, pitch, tiles.q, rows);
  load_rows<kQueryTile>(s.dout, query, head.a.queries, head.a.width, pitch, tiles.dout, rows);
}

template <class T>
__device__ void load_keys(const AttentionHead<T>& head, int64_t from, int pitch,
                          const Tiles& tiles) {
  const HeadRows rows = head.key_rows();
  load_rows<kKeyTile>(head.a.k, from, head.a.keys, head.a.width, pitch, tiles.k, rows);
  load_rows<kKeyTile>(head.a.v, from, head.a.keys, head.a.width, pitch, tiles.v, rows);
}

// The part of a query's slopes that is common to its keys: dout · out, less the level's gradient.
__device__ inline float common_part(float product, const float* dlevel, int64_t line) {
  return dlevel ? product - dlevel[line] : product;
}

template <class T>
__device__ void load_along(const AttentionHead<T>& head, const Slopes<T>& s, int64_t query,
                           float* along) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const HeadRows rows = head.query_rows();
  for (int r = warp; r < kQueryTile; r += warps) {
    const int64_t row = rows.at(query + r);
    float sum = 0;
    if (query + r < head.a.queries)
      for (int64_t d = lane; d < head.a.width; d += kWarp)
        sum += load(s.dout + row + d) * load(s.out + row + d);
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
  const auto walk = keys_for<kKeyTile>(head, query, rows);
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
    store(s.dq + head.query_rows().at(query + i / a.width) + i % a.width,
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
    const auto walk = queries_for<kQueryTile>(head, from, kKeyTile);
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
  const HeadRows rows = keys.key_rows();
  for (int64_t i = threadIdx.x; i < kKeyTile * a.width; i += blockDim.x) {
    const int64_t j = i / a.width, d = i % a.width;
    if (from + j >= a.keys) continue;
    store(s.dk + rows.at(from + j) + d, key_sums[j * pitch + d]);
    store(s.dv + rows.at(from + j) + d, value_sums[j * pitch + d]);
  }
}

// along [B,H,T]: the part of a query's slopes that is common to its keys. kPart lanes a query,
// which read `kWide` neighbours at once.
constexpr int kPart = 8;
template <class T, int kWide>
__global__ void common_slopes(AttentionPointers<T> a, Slopes<T> s, float* along) {
  const AttentionHead<T> head{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y)};
  const int64_t query = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kPart;
  const int part = threadIdx.x % kPart;
  const int64_t row = head.query_rows().at(query), width = query < a.queries ? a.width : 0;
  float sum = 0;
  for (int64_t d = part * kWide; d < width; d += kPart * kWide) {
    const auto given = load_some<kWide>(s.dout + row + d), made = load_some<kWide>(s.out + row + d);
#pragma unroll
    for (int k = 0; k < kWide; ++k) sum += load(&given.at[k]) * load(&made.at[k]);
  }
  for (int offset = kPart / 2; offset; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (part == 0 && query < a.queries)
    along[head.line_at(query)] = common_part(sum, s.dlevel, head.line_at(query));
}

// A block: 64 queries against tiles of keys.
template <class T, int kWidth, int kKeys>
__global__ void __launch_bounds__(kMmaThreads, kBlocks<kWidth>)
    query_gradients_mma(AttentionPointers<T> a, Slopes<T> s, const float* along) {
  constexpr int kPitch = kTilePitch<kWidth>;
  const AttentionHead<T> head{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y)};
  const int64_t query = static_cast<int64_t>(gridDim.x - 1 - blockIdx.x) * kMmaRows;
  const int64_t rows = a.queries - query < kMmaRows ? a.queries - query : kMmaRows;
  __shared__ QueryLines<kMmaRows> lines;
  T* q = dynamic_shared<T>();
  T *dout = q + kMmaRows * kPitch, *k = dout + kMmaRows * kPitch, *v = k + 2 * kKeys * kPitch;
  const int first_row = threadIdx.x / kWarp * 16;
  const HeadRows q_rows = head.query_rows(), k_rows = head.key_rows();
  const auto fetch_keys = [&](int64_t from, int buffer) {
    fetch_tile<kKeys, kWidth>(a.k, from, a.keys, a.width, k + buffer * kKeys * kPitch, k_rows);
    fetch_tile<kKeys, kWidth>(a.v, from, a.keys, a.width, v + buffer * kKeys * kPitch, k_rows);
    end_of_copies();
  };
  float sums[kWidth / 8][4] = {};
  const auto walk = keys_for<kKeys>(head, query, rows);
  fetch_tile<kMmaRows, kWidth>(a.q, query, a.queries, a.width, q, q_rows);
  fetch_tile<kMmaRows, kWidth>(s.dout, query, a.queries, a.width, dout, q_rows);
  lines.load(head, s.level, along, query);
  if (walk.count > 0)
    fetch_keys(walk.at(0), 0);
  else
    end_of_copies();
  const bool band = a.is_band() && !a.adds();
  const int64_t first = query + first_row;
  const BandRows seen = keys_in_band(head, first);
  int buffer = 0;
  for (int64_t i = 0; i < walk.count; ++i, buffer ^= 1) {
    const int64_t from = walk.at(i);
    wait_for_tile(i + 1 < walk.count, [&] { fetch_keys(walk.at(i + 1), buffer ^ 1); });
    float scores[kKeys / 8][4] = {}, slopes[kKeys / 8][4] = {};
    multiply_rows<kKeys, kWidth>(scores, q + first_row * kPitch, k + buffer * kKeys * kPitch);
    multiply_rows<kKeys, kWidth>(slopes, dout + first_row * kPitch, v + buffer * kKeys * kPitch);
    const Pairs<true> pairs{first, from, lines.level + first_row, lines.along + first_row};
    const TileSight sight = band && seen.all(from, kKeys) ? TileSight::whole : walk.sight(i);
    weigh(head, pairs, band, sight, seen, scores, slopes);
    multiply_weights<kKeys, kWidth>(sums, slopes, k + buffer * kKeys * kPitch);
  }
  wait_for_copies<0>();
  const float scales[2] = {a.scale, a.scale};
  store_rows<kWidth>(sums, scales, query + first_row, a.queries, a.width, s.dq, q_rows);
}

// [B,S,heads,D] each.
template <class To>
struct KeyGradients {
  To *k, *v;
};

// A block: 64 keys against tiles of queries of one head. Rows of fragments are keys here, columns
// queries.
template <class T, class To, int kWidth, int kQueries>
__global__ void __launch_bounds__(kMmaThreads, kBlocks<kWidth>)
    key_gradients_mma(AttentionPointers<T> a, Slopes<T> s, const float* along,
                      KeyGradients<To> to) {
  constexpr int kPitch = kTilePitch<kWidth>;
  const AttentionHead<T> head{a, static_cast<int64_t>(blockIdx.z),
                              static_cast<int64_t>(blockIdx.y)};
  const int64_t from = static_cast<int64_t>(blockIdx.x) * kMmaRows;
  __shared__ QueryLines<kQueries> lines[2];
  T* k = dynamic_shared<T>();
  T *v = k + kMmaRows * kPitch, *q = v + kMmaRows * kPitch, *dout = q + 2 * kQueries * kPitch;
  const int first_row = threadIdx.x / kWarp * 16;
  const HeadRows q_rows = head.query_rows(), k_rows = head.key_rows();
  const auto fetch_queries = [&](int64_t query, int buffer) {
    const int place = buffer * kQueries * kPitch;
    fetch_tile<kQueries, kWidth>(a.q, query, a.queries, a.width, q + place, q_rows);
    fetch_tile<kQueries, kWidth>(s.dout, query, a.queries, a.width, dout + place, q_rows);
    end_of_copies();
    lines[buffer].load(head, s.level, along, query);
  };
  float key_sums[kWidth / 8][4] = {}, value_sums[kWidth / 8][4] = {};
  const auto walk = queries_for<kQueries>(head, from, kMmaRows);
  fetch_tile<kMmaRows, kWidth>(a.k, from, a.keys, a.width, k, k_rows);
  fetch_tile<kMmaRows, kWidth>(a.v, from, a.keys, a.width, v, k_rows);
  // Keys that nobody sees have been fetched in vain, but a block must not end before its copies.
  if (walk.count > 0)
    fetch_queries(walk.at(0), 0);
  else
    end_of_copies();
  const bool band = a.is_band() && !a.adds();
  const int64_t first = from + first_row;
  const BandRows seen = queries_in_band(head, first);
  int buffer = 0;
  for (int64_t i = 0; i < walk.count; ++i, buffer ^= 1) {
    const int64_t query = walk.at(i);
    wait_for_tile(i + 1 < walk.count, [&] { fetch_queries(walk.at(i + 1), buffer ^ 1); });
    const T *queries = q + buffer * kQueries * kPitch, *given = dout + buffer * kQueries * kPitch;
    float scores[kQueries / 8][4] = {}, slopes[kQueries / 8][4] = {};
    multiply_rows<kQueries, kWidth>(scores, k + first_row * kPitch, queries);
    multiply_rows<kQueries, kWidth>(slopes, v + first_row * kPitch, given);
    const Pairs<false> pairs{query, first, lines[buffer].level, lines[buffer].along};
    const TileSight sight = band && seen.all(query, kQueries) ? TileSight::whole : walk.sight(i);
    weigh(head, pairs, band, sight, seen, scores, slopes);
    multiply_weights<kQueries, kWidth>(value_sums, scores, given);
    multiply_weights<kQueries, kWidth>(key_sums, slopes, queries);
  }
  wait_for_copies<0>();
  const float scales[2] = {a.scale, a.scale}, ones[2] = {1, 1};
  const HeadRows rows{(head.sample * a.keys * a.heads + head.head) * a.width, a.heads * a.width};
  store_rows<kWidth>(key_sums, scales, first, a.keys, a.width, to.k, rows);
  store_rows<kWidth>(value_sums, ones, first, a.keys, a.width, to.v, rows);
}

// Sums over the `shared` query heads of each key head, in their order: so there are no atomics. A
// thread an element of `to`.
template <class T>
__global__ void add_heads(KeyGradients<float> parts, KeyGradients<T> to, int64_t count,
                          int64_t shared, int64_t width) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int64_t first = i / width * shared * width + i % width;
  float key = parts.k[first], value = parts.v[first];
  for (int64_t h = 1; h < shared; ++h) {
    key += parts.k[first + h * width];
    value += parts.v[first + h * width];
  }
  store(to.k + i, key);
  store(to.v + i, value);
}

// Of query heads that share key heads each has gradients of its own first, so that there are as
// many blocks as in the forward pass.
template <class T, int kWidth, int kQueries>
void key_gradients_by_head(Cuda on, const AttentionPointers<T>& a, const Slopes<T>& slopes,
                           int64_t samples, const float* along, size_t shared_bytes) {
  const auto run = [&]<class To>(const KeyGradients<To>& to) {
    launch("attention_backward of keys", on, key_gradients_mma<T, To, kWidth, kQueries>,
           grid_of(pieces_of(a.keys, kMmaRows), a.heads, samples), kMmaThreads, shared_bytes, a,
           slopes, along, to);
  };
  const KeyGradients<T> to{slopes.dk, slopes.dv};
  if (a.groups == a.heads) return run(to);
  const Tensor parts = Tensor::empty({2, samples, a.keys, a.heads, a.width}, DType::f32,
                                     {DeviceKind::cuda, on.index});
  float* keys = parts.data<float>();
  const KeyGradients<float> by_head{keys, keys + parts.size() / 2};
  run(by_head);
  constexpr int kThreads = 256;
  const int64_t count = samples * a.keys * a.groups * a.width;
  launch("attention_backward's sums of heads", on, add_heads<T>,
         grid_of(pieces_of(count, kThreads)), kThreads, 0, by_head, to, count, a.heads / a.groups,
         a.width);
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
  key_gradients_by_head<T, kWidth, kOther>(on, a, slopes, samples, along, kShared);
}

template <class T>
void backward(Cuda on, const AttentionPointers<T>& a, const Slopes<T>& slopes, int64_t samples,
              Device device) {
  Tensor along;
  if (fits_mma(a) || slopes.dbias) {
    along = Tensor::empty({samples, a.heads, a.queries}, DType::f32, device);
    constexpr int kThreads = 256, kPack = Pack<T>::kSize;
    const dim3 grid = grid_of(pieces_of(a.queries, kThreads / kPart), a.heads, samples);
    launch("attention_backward's common slopes", on,
           a.width % kPack == 0 ? common_slopes<T, kPack> : common_slopes<T, 1>, grid, kThreads, 0,
           a, slopes, along.data<float>());
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
