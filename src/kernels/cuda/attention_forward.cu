#include "attention_head.cuh"

namespace skein::kernels {
namespace {

// A block: kQueryTile queries of a head against tiles of keys, the softmax online (Dao and others, 2022).
template <class T>
__global__ void forward_tile(Attend<T> a, int pitch, T* out, float* logsumexp) {
  const HeadOf<T> head{a, static_cast<int64_t>(blockIdx.z), static_cast<int64_t>(blockIdx.y)};
  const int64_t query = static_cast<int64_t>(blockIdx.x) * kQueryTile, rows = a.queries - query < kQueryTile ? a.queries - query : kQueryTile;
  float* q = dynamic_shared<float>();
  float *k = q + kQueryTile * pitch, *v = k + kKeyTile * pitch, *sums = v + kKeyTile * pitch, *weights = sums + kQueryTile * pitch;
  __shared__ float largest[kQueryTile], total[kQueryTile], shrink[kQueryTile];
  load_rows<kQueryTile>(a.q, query, a.queries, a.width, pitch, q, [&](int64_t row) { return head.q_at(row); });
  for (int64_t i = threadIdx.x; i < kQueryTile * pitch; i += blockDim.x) sums[i] = 0;
  if (threadIdx.x < kQueryTile) {
    largest[threadIdx.x] = -INFINITY;
    total[threadIdx.x] = 0;
  }
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const int64_t end = head.last(query + rows - 1);
  for (int64_t from = head.first(query) / kKeyTile * kKeyTile; from < end; from += kKeyTile) {
    __syncthreads();
    load_rows<kKeyTile>(a.k, from, a.keys, a.width, pitch, k, [&](int64_t row) { return head.kv_at(row); });
    load_rows<kKeyTile>(a.v, from, a.keys, a.width, pitch, v, [&](int64_t row) { return head.kv_at(row); });
    __syncthreads();
    for (int r = warp; r < kQueryTile; r += warps) {
      const bool seen = head.sees(query + r, from + lane);
      const float score = seen ? dot(q + r * pitch, k + lane * pitch, a.width) * a.scale : -INFINITY;
      const float before = largest[r], top = fmaxf(before, warp_max(score));
      const float weight = seen ? expf(score - top) : 0.0f, sum = warp_sum(weight);
      weights[r * kKeyTile + lane] = seen ? weight * head.kept(query + r, from + lane) : 0.0f;
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
    store(out + head.q_at(query + r) + d, total[r] > 0 ? sums[r * pitch + d] / total[r] : 0.0f);
  }
  if (threadIdx.x < rows)
    logsumexp[(head.sample * a.heads + head.head) * a.queries + query + threadIdx.x] =
        total[threadIdx.x] > 0 ? largest[threadIdx.x] + logf(total[threadIdx.x]) : -INFINITY;
}

template <class T>
void forward(Cuda on, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArguments& arguments, const Tensor& out,
             const Tensor& logsumexp) {
  const int pitch = pitch_of(q.dim(3));
  const size_t shared = static_cast<size_t>((2 * kQueryTile + 2 * kKeyTile) * pitch + kQueryTile * kKeyTile) * sizeof(float);
  const dim3 grid(static_cast<unsigned>(pieces_of(q.dim(1), kQueryTile)), static_cast<unsigned>(q.dim(2)), static_cast<unsigned>(q.dim(0)));
  launch("attention", on, forward_tile<T>, grid, kAttentionThreads, shared, make_attend<T>(q, k, v, arguments), pitch, out.data<T>(),
         logsumexp.data<float>());
}

}  // namespace

void attention(Cuda on, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArguments& arguments, const Tensor& out,
               const Tensor& logsumexp) {
  SKEIN_CHECK(!arguments.causal || k.dim(1) >= arguments.first_query + q.dim(1));
  if (q.dtype() == DType::bf16) return forward<BFloat16>(on, q, k, v, arguments, out, logsumexp);
  SKEIN_CHECK(q.dtype() == DType::f32);
  forward<float>(on, q, k, v, arguments, out, logsumexp);
}

}  // namespace skein::kernels
