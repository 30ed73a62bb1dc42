// What the backward kernels of attention share: the slopes of a pair, and the gradients of a bias.
// Internal to attention.
#pragma once

#include "attention_sight.cuh"

namespace skein::kernels {

template <class T>
struct Slopes {
  const T *out, *dout;
  const float *level, *dlevel;  // dlevel may be null
  T *dq, *dk, *dv;
  float* dbias;  // or null
};

// Of a pair that sees each other, from its products q · k and dout · v: the weight as it met the
// value, and the slope of the score.
struct PairSlopes {
  float weight, slope;
};

template <class T>
__device__ PairSlopes slopes_of(const AttentionHead<T>& head, int64_t query, int64_t key,
                                float product, float gradient, float level, float along) {
  const float kept = head.kept(query, key);
  // A lone query's keys count alike, and their scores are no functions of q and k.
  if (head.is_alone(query)) return {kept / rintf(expf(level - static_cast<float>(kAlone))), 0.0f};
  const float plain = exp2f((head.score(query, key, product * head.a.scale) - level) * kLog2E);
  return {plain * kept, plain * (gradient * kept - along)};
}

// Gradients of the bias, each element by one thread in the order of samples and queries. A block: a
// tile of elements of one row of the bias against the pairs that have them.
template <class T>
struct BiasTiles {
  float *q, *dout, *k, *v;  // [kQueryTile, pitch] twice, [2 kKeyTile, pitch] twice
  int pitch;

  __device__ explicit BiasTiles(int pitch) : pitch(pitch) {
    q = dynamic_shared<float>();
    dout = q + kQueryTile * pitch;
    k = dout + kQueryTile * pitch;
    v = k + 2 * kKeyTile * pitch;
  }
  __device__ void load(const AttentionHead<T>& head, const Slopes<T>& s, int64_t query,
                       int64_t key) const {
    const HeadRows rows = head.query_rows();
    load_rows<kQueryTile>(head.a.q, query, head.a.queries, head.a.width, pitch, q, rows);
    load_rows<kQueryTile>(s.dout, query, head.a.queries, head.a.width, pitch, dout, rows);
    load_keys<0>(head, key);
    load_keys<kKeyTile>(head, key);
  }
  // kKeyTile keys from key + kFirst on; those before key 0 become zero.
  template <int kFirst>
  __device__ void load_keys(const AttentionHead<T>& head, int64_t key) const {
    const AttentionPointers<T>& a = head.a;
    const HeadRows rows = head.key_rows();
    for (int64_t i = threadIdx.x; i < kKeyTile * a.width; i += blockDim.x) {
      const int64_t row = kFirst + i / a.width, at = key + row, d = i % a.width;
      const bool there = at >= 0 && at < a.keys;
      k[row * pitch + d] = there ? skein::kernels::load(a.k + rows.at(at) + d) : 0.0f;
      v[row * pitch + d] = there ? skein::kernels::load(a.v + rows.at(at) + d) : 0.0f;
    }
  }
  // The slope of the score of the pair in rows r and j; 0 where it does not see.
  __device__ float slope(const AttentionHead<T>& head, const Slopes<T>& s, const float* along,
                         int64_t query, int64_t key, int r, int j) const {
    if (key < 0 || !head.sees(query, key)) return 0;
    const int64_t line = head.line_at(query), width = head.a.width;
    return slopes_of(head, query, key, dot(q + r * pitch, k + j * pitch, width),
                     dot(dout + r * pitch, v + j * pitch, width), s.level[line], along[line])
        .slope;
  }
  static size_t bytes(int pitch) {
    return static_cast<size_t>((2 * kQueryTile + 4 * kKeyTile) * pitch) * sizeof(float);
  }
};
template <class T>
__global__ void dense_bias_gradients(AttentionPointers<T> a, Slopes<T> s, const float* along,
                                     int pitch) {
  const BiasTiles<T> tiles(pitch);
  const int64_t share = blockIdx.z / a.heads, number = blockIdx.z % a.heads,
                from = static_cast<int64_t>(blockIdx.x) * kKeyTile,
                query = static_cast<int64_t>(blockIdx.y) * kQueryTile;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  constexpr int kRows = kQueryTile / (kAttentionThreads / kWarp);
  float sums[kRows] = {};
  for (int64_t b = 0; b < a.bias_samples; ++b) {
    const AttentionHead<T> head{a, share * a.bias_samples + b, number};
    if (!may_see(head, query / kSightTile, from / kSightTile)) continue;
    __syncthreads();
    tiles.load(head, s, query, from);
    __syncthreads();
    for (int i = 0; i < kRows; ++i) {
      const int r = warp * kRows + i;
      sums[i] += tiles.slope(head, s, along, query + r, from + lane, r, lane);
    }
  }
  const AttentionHead<T> head{a, share * a.bias_samples, number};
  for (int i = 0; i < kRows; ++i)
    if (const int64_t row = query + warp * kRows + i; row < a.queries && from + lane < a.keys)
      s.dbias[head.bias_at(row, from + lane)] = sums[i];
}

// A lane has one distance; the warps' sums are added in their order.
template <class T>
__global__ void distance_bias_gradients(AttentionPointers<T> a, Slopes<T> s, const float* along,
                                        int pitch) {
  const BiasTiles<T> tiles(pitch);
  constexpr int kWarps = kAttentionThreads / kWarp, kRows = kQueryTile / kWarps;
  __shared__ float sums[kWarps][kWarp];
  const int64_t share = blockIdx.z / a.heads, number = blockIdx.z % a.heads,
                element = static_cast<int64_t>(blockIdx.x) * kWarp;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  float sum = 0;
  for (int64_t b = 0; b < a.bias_samples; ++b) {
    const AttentionHead<T> head{a, share * a.bias_samples + b, number};
    for (int64_t query = 0; query < a.queries; query += kQueryTile) {
      const int64_t from = query + element - a.bias_first;
      if (from >= a.keys || from + 2 * kKeyTile <= 0) continue;
      __syncthreads();
      tiles.load(head, s, query, from);
      __syncthreads();
      for (int i = 0; i < kRows; ++i) {
        const int r = warp * kRows + i;
        sum += tiles.slope(head, s, along, query + r, from + r + lane, r, r + lane);
      }
    }
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || element + lane >= a.bias_size) return;
  for (int w = 1; w < kWarps; ++w) sum += sums[w][lane];
  s.dbias[(share * a.heads + number) * a.bias_size + element + lane] = sum;
}

template <class T>
void bias_backward(Cuda on, const AttentionPointers<T>& a, const Slopes<T>& slopes, int64_t samples,
                   const float* along) {
  const int pitch = pitch_of(a.width);
  const int64_t rows = samples / a.bias_samples * a.heads;
  if (a.bias_row >= 0)
    launch("attention_backward of a bias", on, dense_bias_gradients<T>,
           grid_of(pieces_of(a.keys, kKeyTile), pieces_of(a.queries, kQueryTile), rows),
           kAttentionThreads, BiasTiles<T>::bytes(pitch), a, slopes, along, pitch);
  else
    launch("attention_backward of a bias", on, distance_bias_gradients<T>,
           grid_of(pieces_of(a.bias_size, kWarp), 1, rows), kAttentionThreads,
           BiasTiles<T>::bytes(pitch), a, slopes, along, pitch);
}

}  // namespace skein::kernels
