// What a block needs of one head of one sample: where it lies and what masks it. Internal to
// attention.
#pragma once

#include "skein/kernels/attention.h"

#include "common.cuh"
#include "philox.cuh"

namespace skein::kernels {

// Queries and keys that meet at once; a warp has a lane for each key.
constexpr int kQueryTile = 32, kKeyTile = 32, kAttentionThreads = 256;

template <class T>
struct AttentionPointers {
  const T *q, *k, *v;
  int64_t queries, keys, heads, groups, width, first_query, window;
  bool causal;
  float scale;
  const int32_t *query_segments, *key_segments, *first_key;
  // Dropout; threshold 0: none.
  uint64_t dropout_key;
  const int64_t* sample_ids;
  int64_t first_head;
  uint32_t threshold;
  float keep;
};

// The types attention is made for on GPUs; f64 is not one of them.
template <class F>
void visit_attended(DType dtype, const F& f) {
  visit_float(dtype, [&]<class T>(TypeTag<T> tag) {
    if constexpr (std::is_same_v<T, double>)
      fail("no attention in f64 on a GPU; use f32, bf16 or f16");
    else
      f(tag);
  });
}

template <class T>
AttentionPointers<T> make_attend(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const AttentionArguments& a) {
  const bool drops = a.dropout > 0;
  return {q.data<T>(),
          k.data<T>(),
          v.data<T>(),
          q.dim(1),
          k.dim(1),
          q.dim(2),
          k.dim(2),
          q.dim(3),
          a.mask.first_query,
          a.mask.window,
          a.mask.causal,
          static_cast<float>(a.scale),
          a.mask.query_segments.data_or_null<int32_t>(),
          a.mask.key_segments.data_or_null<int32_t>(),
          a.mask.first_key.data_or_null<int32_t>(),
          a.dropout_key,
          drops ? a.sample_ids.data<int64_t>() : nullptr,
          a.first_head,
          drops ? static_cast<uint32_t>(a.dropout * 4294967296.0) : 0,
          drops ? 1.0f / static_cast<float>(1 - a.dropout) : 1.0f};
}

template <class T>
struct AttentionHead {
  const AttentionPointers<T>& a;
  int64_t sample, head;

  __device__ int64_t q_at(int64_t query) const {
    return ((sample * a.queries + query) * a.heads + head) * a.width;
  }
  __device__ int64_t kv_at(int64_t key) const {
    return ((sample * a.keys + key) * a.groups + head / (a.heads / a.groups)) * a.width;
  }

  // Keys [first, last) that the query may see by position.
  __device__ int64_t first(int64_t query) const {
    const int64_t near = a.window ? a.first_query + query - a.window + 1 : 0,
                  begin = a.first_key ? a.first_key[sample] : 0;
    return near > begin ? near : begin;
  }
  __device__ int64_t last(int64_t query) const {
    const int64_t position = a.first_query + query, far = a.causal   ? position + 1
                                                          : a.window ? position + a.window
                                                                     : a.keys;
    return far < a.keys ? far : a.keys;
  }
  // Queries [first_seeing, last_seeing) may see the key by position.
  __device__ int64_t first_seeing(int64_t key) const {
    const int64_t position = a.causal ? key : a.window ? key - a.window + 1 : a.first_query;
    return position > a.first_query ? position - a.first_query : 0;
  }
  __device__ int64_t last_seeing(int64_t key) const {
    const int64_t end = a.window ? key + a.window - a.first_query : a.queries;
    return end < a.queries ? end : a.queries;
  }
  __device__ bool sees(int64_t query, int64_t key) const {
    if (query >= a.queries || key < first(query) || key >= last(query)) return false;
    return !a.key_segments ||
           a.key_segments[sample * a.keys + key] == a.query_segments[sample * a.queries + query];
  }
  // 0 or 1 / (1 - dropout).
  __device__ float kept(int64_t query, int64_t key) const {
    if (!a.threshold) return 1.0f;
    const uint64_t draw = static_cast<uint64_t>(a.first_head + head) << kDropoutHead |
                          static_cast<uint64_t>(query) << kDropoutQuery |
                          static_cast<uint64_t>(key);
    const DeviceBlock bits =
        philox_on_device(a.dropout_key, static_cast<uint64_t>(a.sample_ids[sample]), draw / 4);
    return bits.word[draw % 4] < a.threshold ? 0.0f : a.keep;
  }
};

// Rows [first, first + kRows) of a head in shared memory, rows of `pitch` floats; zero where there
// are none.
template <int kRows, class T, class At>
__device__ void load_rows(const T* from, int64_t first, int64_t count, int64_t width, int pitch,
                          float* to, const At& at) {
  for (int64_t i = threadIdx.x; i < kRows * width; i += blockDim.x) {
    const int64_t row = i / width, d = i % width;
    to[row * pitch + d] = first + row < count ? load(from + at(first + row) + d) : 0.0f;
  }
}

// Dot product of two rows in shared memory.
__device__ inline float dot(const float* a, const float* b, int64_t width) {
  float sum = 0;
  for (int64_t d = 0; d < width; ++d) sum += a[d] * b[d];
  return sum;
}

// Odd, so that the lanes of a warp that read a column each meet another bank.
inline int pitch_of(int64_t width) { return static_cast<int>(width | 1); }

}  // namespace skein::kernels
