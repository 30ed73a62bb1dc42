#include "skein/kernels/loss.h"

#include "../logit_types.h"
#include "common.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 512;

template <class T>
__device__ Accumulator<T> picked_of(const T* row, int64_t valid, int64_t target,
                                    Accumulator<T> largest) {
  return target >= 0 && target < valid ? load(row + target) - largest : Accumulator<T>(0);
}

template <class T>
__global__ void maxima(int64_t columns, int64_t valid, bool wide, const T* logits,
                       Accumulator<T>* out) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  A top = -INFINITY;
  for_row(logits + blockIdx.x * columns, valid, wide,
          [&](int64_t, A x) { top = x > top ? x : top; });
  top = block_max(top, parts);
  if (threadIdx.x == 0) out[blockIdx.x] = top;
}

template <class T>
__global__ void exponential_sums(int64_t columns, int64_t valid, bool wide, const T* logits,
                                 const Accumulator<T>* maximum, const int32_t* targets,
                                 int64_t first_id, Accumulator<T>* sums, Accumulator<T>* picked) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const int64_t r = blockIdx.x;
  const T* row = logits + r * columns;
  const A top = maximum[r];
  A sum = 0;
  for_row(row, valid, wide, [&](int64_t, A x) { sum += exp(x - top); });
  sum = block_sum(sum, parts);
  if (threadIdx.x > 0) return;
  sums[r] = sum;
  picked[r] = picked_of(row, valid, targets[r] - first_id, top);
}

// Each thread keeps its own maximum and shrinks its sum where that grows.
template <class T>
__global__ void statistics(int64_t columns, int64_t valid, bool wide, const T* logits,
                           const int32_t* targets, Accumulator<T>* maximum, Accumulator<T>* sums,
                           Accumulator<T>* picked) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const int64_t r = blockIdx.x;
  const T* row = logits + r * columns;
  A own = -INFINITY, sum = 0;
  for_row(row, valid, wide, [&](int64_t, A x) {
    if (x > own) {
      sum *= exp(own - x);
      own = x;
    }
    sum += exp(x - own);
  });
  const A top = block_max(own, parts);
  sum = block_sum(own == -INFINITY ? A(0) : sum * exp(own - top), parts);
  if (threadIdx.x > 0) return;
  maximum[r] = top;
  sums[r] = sum;
  picked[r] = picked_of(row, valid, targets[r], top);
}

template <class T, class U>
__global__ void logit_gradients(int64_t columns, int64_t valid, bool wide, const T* logits,
                                const Accumulator<T>* maximum, const Accumulator<T>* sums,
                                const int32_t* targets, int64_t first_id,
                                const Accumulator<T>* scales, U* out) {
  using A = Accumulator<T>;
  constexpr int kPack = Pack<T>::kSize;
  const int64_t r = blockIdx.x, own = targets[r] - first_id;
  const T* row = logits + r * columns;
  U* to = out + r * columns;
  const A top = maximum[r], scale = scales[r], factor = scale / sums[r];
  const auto slope = [=](int64_t c, A x) {
    const A made = c < valid ? exp(x - top) * factor : A(0);
    return c == own && c < valid ? made - scale : made;
  };
  const int64_t packs = wide ? columns / kPack : 0;
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    const Pack<T> pack = reinterpret_cast<const Pack<T>*>(row)[p];
    struct alignas(kPack * sizeof(U)) Made {
      U at[kPack];
    } made;
#pragma unroll
    for (int k = 0; k < kPack; ++k) store(&made.at[k], slope(p * kPack + k, load(&pack.at[k])));
    reinterpret_cast<Made*>(to)[p] = made;
  }
  for (int64_t c = packs * kPack + threadIdx.x; c < columns; c += blockDim.x)
    store(to + c, slope(c, load(row + c)));
}

template <class T>
__global__ void exp_moments(int64_t columns, int64_t valid, bool wide, const T* logits,
                            const Accumulator<T>* maximum, Accumulator<T>* moments) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const A top = maximum[blockIdx.x];
  A sum = 0;
  for_row(logits + blockIdx.x * columns, valid, wide,
          [&](int64_t, A x) { sum += exp(x - top) * (x - top); });
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) moments[blockIdx.x] = sum;
}

template <class T, class U>
__global__ void entropic_gradients(int64_t columns, int64_t valid, const T* logits,
                                   const Accumulator<T>* maximum, const Accumulator<T>* sums,
                                   const int32_t* targets, int64_t first_id,
                                   const Accumulator<T>* scales, const Accumulator<T>* entropies,
                                   const Accumulator<T>* entropy_scales, U* out) {
  using A = Accumulator<T>;
  const int64_t r = blockIdx.x, own = targets[r] - first_id;
  const T* row = logits + r * columns;
  const A top = maximum[r], scale = scales[r], entropy_scale = entropy_scales[r],
          share = A(1) / sums[r], base = entropies[r] - log(sums[r]);
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const A below = load(row + c) - top;
    const A made = c < valid ? exp(below) * share * (scale - entropy_scale * (below + base)) : A(0);
    store(out + r * columns + c, c == own && c < valid ? made - scale : made);
  }
}

struct LogDifference {
  template <class A>
  __device__ A operator()(A sum, A target) const {
    return log(sum) - target;
  }
};

struct RowEntropy {
  template <class A>
  __device__ A operator()(A sum_exp, A moment) const {
    const double sum = sum_exp;
    return static_cast<A>(log(sum) - moment / sum);
  }
};

struct SquaredError {
  template <class A>
  __device__ A operator()(A x, float value) const {
    const double miss = static_cast<double>(x) - static_cast<double>(value);
    return static_cast<A>(miss * miss);
  }
};

struct SquaredErrorSlope {
  template <class A>
  __device__ A operator()(A x, float value, A scale) const {
    const double miss = static_cast<double>(x) - static_cast<double>(value);
    return static_cast<A>(2 * miss * static_cast<double>(scale));
  }
};

dim3 rows_of(const Tensor& logits) { return dim3(static_cast<unsigned>(logits.dim(0))); }

}  // namespace

void row_maximum(Cuda on, const Tensor& logits, int64_t valid, const Tensor& maximum) {
  visit_float(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch("row_maximum", on, maxima<T>, rows_of(logits), kThreads, 0, logits.dim(1), valid,
           wide_rows(logits), logits.data<T>(), maximum.data<Accumulator<T>>());
  });
}

void row_sum_exp(Cuda on, const Tensor& logits, int64_t valid, const Tensor& maximum,
                 const Tensor& targets, int64_t first_id, const Tensor& sum_exp,
                 const Tensor& target_logit) {
  visit_float(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    launch("row_sum_exp", on, exponential_sums<T>, rows_of(logits), kThreads, 0, logits.dim(1),
           valid, wide_rows(logits), logits.data<T>(), maximum.data<A>(), targets.data<int32_t>(),
           first_id, sum_exp.data<A>(), target_logit.data<A>());
  });
}

void row_statistics(Cuda on, const Tensor& logits, int64_t valid, const Tensor& targets,
                    const Tensor& maximum, const Tensor& sum_exp, const Tensor& target_logit) {
  visit_float(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    launch("row_statistics", on, statistics<T>, rows_of(logits), kThreads, 0, logits.dim(1), valid,
           wide_rows(logits), logits.data<T>(), targets.data<int32_t>(), maximum.data<A>(),
           sum_exp.data<A>(), target_logit.data<A>());
  });
}

void row_losses(Cuda on, const Tensor& sum_exp, const Tensor& target_logit, const Tensor& losses) {
  visit_float(losses.dtype(), [&](auto tag) {
    using A = Accumulator<typename decltype(tag)::type>;
    map("row_losses", on, losses.size(), LogDifference{}, losses.data<A>(), sum_exp.data<A>(),
        target_logit.data<A>());
  });
}

void row_exp_moment(Cuda on, const Tensor& logits, int64_t valid, const Tensor& maximum,
                    const Tensor& moment) {
  visit_float(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    launch("row_exp_moment", on, exp_moments<T>, rows_of(logits), kThreads, 0, logits.dim(1), valid,
           wide_rows(logits), logits.data<T>(), maximum.data<A>(), moment.data<A>());
  });
}

void row_entropies(Cuda on, const Tensor& sum_exp, const Tensor& moment, const Tensor& entropies) {
  visit_float(entropies.dtype(), [&](auto tag) {
    using A = Accumulator<typename decltype(tag)::type>;
    map("row_entropies", on, entropies.size(), RowEntropy{}, entropies.data<A>(), sum_exp.data<A>(),
        moment.data<A>());
  });
}

void entropic_backward(Cuda on, const Tensor& logits, int64_t valid, const Tensor& maximum,
                       const Tensor& sum_exp, const Tensor& targets, int64_t first_id,
                       const Tensor& row_scale, const Tensor& entropy, const Tensor& entropy_scale,
                       const Tensor& dlogits) {
  visit_logits(logits.dtype(), dlogits.dtype(), [&](auto tag, auto out_tag) {
    using T = typename decltype(tag)::type;
    using U = typename decltype(out_tag)::type;
    using A = Accumulator<T>;
    launch("entropic_backward", on, entropic_gradients<T, U>, rows_of(logits), kThreads, 0,
           logits.dim(1), valid, logits.data<T>(), maximum.data<A>(), sum_exp.data<A>(),
           targets.data<int32_t>(), first_id, row_scale.data<A>(), entropy.data<A>(),
           entropy_scale.data<A>(), dlogits.data<U>());
  });
}

void cross_entropy_backward(Cuda on, const Tensor& logits, int64_t valid, const Tensor& maximum,
                            const Tensor& sum_exp, const Tensor& targets, int64_t first_id,
                            const Tensor& row_scale, const Tensor& dlogits) {
  visit_logits(logits.dtype(), dlogits.dtype(), [&](auto tag, auto out_tag) {
    using T = typename decltype(tag)::type;
    using U = typename decltype(out_tag)::type;
    using A = Accumulator<T>;
    launch("cross_entropy_backward", on, logit_gradients<T, U>, rows_of(logits), kThreads, 0,
           logits.dim(1), valid, wide_rows(logits) && wide_rows(dlogits), logits.data<T>(),
           maximum.data<A>(), sum_exp.data<A>(), targets.data<int32_t>(), first_id,
           row_scale.data<A>(), dlogits.data<U>());
  });
}

void squared_errors(Cuda on, const Tensor& x, const Tensor& values, const Tensor& losses) {
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    map("squared_errors", on, x.size(), SquaredError{}, losses.data<Accumulator<T>>(), x.data<T>(),
        values.data<float>());
  });
}

void squared_errors_backward(Cuda on, const Tensor& x, const Tensor& values,
                             const Tensor& row_scale, const Tensor& dx) {
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    map("squared_errors_backward", on, x.size(), SquaredErrorSlope{}, dx.data<T>(), x.data<T>(),
        values.data<float>(), row_scale.data<Accumulator<T>>());
  });
}

}  // namespace skein::kernels
