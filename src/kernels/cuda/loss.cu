#include "skein/kernels/loss.h"

#include "common.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 512;

template <class T>
__global__ void maxima(int64_t columns, int64_t valid, const T* logits, Accumulator<T>* out) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const T* row = logits + blockIdx.x * columns;
  A top = -INFINITY;
  for (int64_t c = threadIdx.x; c < valid; c += blockDim.x) {
    const A x = load(row + c);
    top = x > top ? x : top;
  }
  top = block_max(top, parts);
  if (threadIdx.x == 0) out[blockIdx.x] = top;
}

template <class T>
__global__ void exponential_sums(int64_t columns, int64_t valid, const T* logits, const Accumulator<T>* maximum, const int32_t* targets,
                                 int64_t first_id, Accumulator<T>* sums, Accumulator<T>* picked) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const int64_t r = blockIdx.x;
  const T* row = logits + r * columns;
  const A top = maximum[r];
  A sum = 0;
  for (int64_t c = threadIdx.x; c < valid; c += blockDim.x) sum += exp(load(row + c) - top);
  sum = block_sum(sum, parts);
  if (threadIdx.x > 0) return;
  sums[r] = sum;
  const int64_t own = targets[r] - first_id;
  picked[r] = own >= 0 && own < valid ? load(row + own) - top : A(0);
}

template <class T, class U>
__global__ void logit_gradients(int64_t columns, int64_t valid, const T* logits, const Accumulator<T>* maximum, const Accumulator<T>* sums,
                                const int32_t* targets, int64_t first_id, const Accumulator<T>* scales, U* out) {
  using A = Accumulator<T>;
  const int64_t r = blockIdx.x, own = targets[r] - first_id;
  const T* row = logits + r * columns;
  const A top = maximum[r], scale = scales[r], factor = scale / sums[r];
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    A slope = c < valid ? exp(load(row + c) - top) * factor : A(0);
    if (c == own && c < valid) slope -= scale;
    store(out + r * columns + c, slope);
  }
}

struct LogDifference {
  template <class A>
  __device__ A operator()(A sum, A target) const { return log(sum) - target; }
};

dim3 rows_of(const Tensor& logits) { return dim3(static_cast<unsigned>(logits.dim(0))); }

}  // namespace

void row_maximum(Cuda on, const Tensor& logits, int64_t valid, const Tensor& maximum) {
  visit_float(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch("row_maximum", on, maxima<T>, rows_of(logits), kThreads, 0, logits.dim(1), valid, logits.data<T>(), maximum.data<Accumulator<T>>());
  });
}

void row_sum_exp(Cuda on, const Tensor& logits, int64_t valid, const Tensor& maximum, const Tensor& targets, int64_t first_id,
                 const Tensor& sum_exp, const Tensor& target_logit) {
  visit_float(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    launch("row_sum_exp", on, exponential_sums<T>, rows_of(logits), kThreads, 0, logits.dim(1), valid, logits.data<T>(), maximum.data<A>(),
           targets.data<int32_t>(), first_id, sum_exp.data<A>(), target_logit.data<A>());
  });
}

void row_losses(Cuda on, const Tensor& sum_exp, const Tensor& target_logit, const Tensor& losses) {
  visit_float(losses.dtype(), [&](auto tag) {
    using A = Accumulator<typename decltype(tag)::type>;
    map("row_losses", on, losses.size(), LogDifference{}, losses.data<A>(), sum_exp.data<A>(), target_logit.data<A>());
  });
}

void cross_entropy_backward(Cuda on, const Tensor& logits, int64_t valid, const Tensor& maximum, const Tensor& sum_exp, const Tensor& targets,
                            int64_t first_id, const Tensor& row_scale, const Tensor& dlogits) {
  const auto run = [&](auto tag, auto out_tag) {
    using T = typename decltype(tag)::type;
    using U = typename decltype(out_tag)::type;
    using A = Accumulator<T>;
    launch("cross_entropy_backward", on, logit_gradients<T, U>, rows_of(logits), kThreads, 0, logits.dim(1), valid, logits.data<T>(),
           maximum.data<A>(), sum_exp.data<A>(), targets.data<int32_t>(), first_id, row_scale.data<A>(), dlogits.data<U>());
  };
  visit_float(logits.dtype(), [&](auto tag) {
    if (dlogits.dtype() == logits.dtype()) return run(tag, tag);
    SKEIN_CHECK(logits.dtype() == DType::f32 && dlogits.dtype() == DType::bf16);
    run(TypeTag<float>{}, TypeTag<BFloat16>{});
  });
}

}  // namespace skein::kernels
