#include "attention_head.cuh"

namespace skein::kernels {
namespace {

template <class T>
struct Slopes {
  const T *out, *dout;
  const float* logsumexp;
  T *dq, *dk, *dv;
};

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
    return static_cast<size_t>((2 * kQueryTile + 2 * kKeyTile) * pitch + 2 * kQueryTile * kKeyTile + more) * sizeof(float);
  }
};

template <class T>
__device__ void load_queries(const HeadOf<T>& head, const Slopes<T>& s, int64_t query, int pitch, const Tiles& tiles) {
  const auto at = [&](int64_t row) { return head.q_at(row); };
  load_rows<kQueryTile>(head.a.q, query, head.a.queries, head.a.width, pitch, tiles.q, at);
  load_rows<kQueryTile>(s.dout, query, head.a.queries, head.a.width, pitch, tiles.dout, at);
}

template <class T>
__device__ void load_keys(const HeadOf<T>& head, int64_t from, int pitch, const Tiles& tiles) {
  const auto at = [&](int64_t row) { return head.kv_at(row); };
  load_rows<kKeyTile>(head.a.k, from, head.a.keys, head.a.width, pitch, tiles.k, at);
  load_rows<kKeyTile>(head.a.v, from, head.a.keys, head.a.width, pitch, tiles.v, at);
}

// along[r] = dout[r] · out[r], the part of a row's slopes that is common to its keys.
template <class T>
__device__ void load_along(const HeadOf<T>& head, const Slopes<T>& s, int64_t query, float* along) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  for (int r = warp; r < kQueryTile; r += warps) {
    float sum = 0;
    if (query + r < head.a.queries)
      for (int64_t d = lane; d < head.a.width; d += kWarp) sum += load(s.dout + head.q_at(query + r) + d) * load(s.out + head.q_at(query + r) + d);
    sum = warp_sum(sum);
    if (lane == 0) along[r] = sum;
  }
}

// Of the tile: weights as they met the values (dropped), and slopes of the scores times scale.
template <class T>
__device__ void fill_slopes(const HeadOf<T>& head, const Slopes<T>& s, int64_t query, int64_t from, int pitch, const Tiles& tiles, const float* along) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  for (int r = warp; r < kQueryTile; r += warps) {
    float weight = 0, slope = 0;
    if (head.sees(query + r, from + lane)) {
      const float kept = head.kept(query + r, from + lane);
      const float score = dot(tiles.q + r * pitch, tiles.k + lane * pitch, head.a.width) * head.a.scale;
      const float plain = expf(score - s.logsumexp[(head.sample * head.a.heads + head.head) * head.a.queries + query + r]);
      weight = plain * kept;
      slope = plain * (dot(tiles.dout + r * pitch, tiles.v + lane * pitch, head.a.width) * kept - along[r]) * head.a.scale;
    }
    tiles.weights[r * kKeyTile + lane] = weight;
    tiles.slopes[r * kKeyTile + lane] = slope;
  }
}

template <class T>
__global__ void query_gradients(Attend<T> a, Slopes<T> s, int pitch) {
  const HeadOf<T> head{a, static_cast<int64_t>(blockIdx.z), static_cast<int64_t>(blockIdx.y)};
  const int64_t query = static_cast<int64_t>(blockIdx.x) * kQueryTile, rows = a.queries - query < kQueryTile ? a.queries - query : kQueryTile;
  const Tiles tiles(pitch);
  float* sums = tiles.slopes + kQueryTile * kKeyTile;
  __shared__ float along[kQueryTile];
  load_queries(head, s, query, pitch, tiles);
  load_along(head, s, query, along);
  for (int64_t i = threadIdx.x; i < kQueryTile * pitch; i += blockDim.x) sums[i] = 0;
  const int64_t end = head.last(query + rows - 1);
  for (int64_t from = head.first(query) / kKeyTile * kKeyTile; from < end; from += kKeyTile) {
    __syncthreads();
    load_keys(head, from, pitch, tiles);
    __syncthreads();
    fill_slopes(head, s, query, from, pitch, tiles, along);
    __syncthreads();
    for (int64_t i = threadIdx.x; i < kQueryTile * a.width; i += blockDim.x) {
      const int64_t r = i / a.width, d = i % a.width;
      float sum = sums[r * pitch + d];
      for (int j = 0; j < kKeyTile; ++j) sum += tiles.slopes[r * kKeyTile + j] * tiles.k[j * pitch + d];
      sums[r * pitch + d] = sum;
    }
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < rows * a.width; i += blockDim.x)
    store(s.dq + head.q_at(query + i / a.width) + i % a.width, sums[i / a.width * pitch + i % a.width]);
}

// A block: a tile of keys of one key head against all queries of the heads that share it, in order; so there are no atomics.
template <class T>
__global__ void key_gradients(Attend<T> a, Slopes<T> s, int pitch) {
  const int64_t shared = a.heads / a.groups, from = static_cast<int64_t>(blockIdx.x) * kKeyTile;
  const Tiles tiles(pitch);
  float *key_sums = tiles.slopes + kQueryTile * kKeyTile, *value_sums = key_sums + kKeyTile * pitch;
  __shared__ float along[kQueryTile];
  for (int64_t i = threadIdx.x; i < 2 * kKeyTile * pitch; i += blockDim.x) key_sums[i] = 0;
  const HeadOf<T> keys{a, static_cast<int64_t>(blockIdx.z), static_cast<int64_t>(blockIdx.y) * shared};
  load_keys(keys, from, pitch, tiles);
  // Without a cache queries and keys have the same places.
  const int64_t first = a.causal ? from / kQueryTile * kQueryTile : 0;
  for (int64_t h = 0; h < shared; ++h) {
    const HeadOf<T> head{a, keys.sample, keys.head + h};
    for (int64_t query = first; query < a.queries; query += kQueryTile) {
      if (head.first(query) >= from + kKeyTile) break;
      const int64_t rows = a.queries - query < kQueryTile ? a.queries - query : kQueryTile;
      if (head.last(query + rows - 1) <= from) continue;
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

template <class T>
void backward(Cuda on, const Attend<T>& a, const Slopes<T>& slopes, int64_t samples) {
  const int pitch = pitch_of(a.width);
  const auto grid = [&](int64_t tiles, int64_t heads) {
    return dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(heads), static_cast<unsigned>(samples));
  };
  launch("attention_backward of queries", on, query_gradients<T>, grid(pieces_of(a.queries, kQueryTile), a.heads), kAttentionThreads,
         Tiles::bytes(pitch, kQueryTile * pitch), a, slopes, pitch);
  launch("attention_backward of keys", on, key_gradients<T>, grid(pieces_of(a.keys, kKeyTile), a.groups), kAttentionThreads,
         Tiles::bytes(pitch, 2 * kKeyTile * pitch), a, slopes, pitch);
}

}  // namespace

void attention_backward(Cuda on, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArguments& arguments, const Tensor& out,
                        const Tensor& logsumexp, const Tensor& dout, const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  SKEIN_CHECK(arguments.first_query == 0 && q.dim(1) == k.dim(1));
  const auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    backward<T>(on, make_attend<T>(q, k, v, arguments),
                {out.data<T>(), dout.data<T>(), logsumexp.data<float>(), dq.data<T>(), dk.data<T>(), dv.data<T>()}, q.dim(0));
  };
  if (q.dtype() == DType::bf16) return run(TypeTag<BFloat16>{});
  SKEIN_CHECK(q.dtype() == DType::f32);
  run(TypeTag<float>{});
}

}  // namespace skein::kernels
