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

// Rows of logits of the ids [first_id, first_id + valid).
template <class T>
struct LogitRows {
  const T* logits;
  int64_t columns, valid, first_id;
  bool wide;               // rows are read 16 bytes at a time
  const int32_t* targets;  // may be null where nobody asks for them
};

template <class T>
__global__ void maxima(LogitRows<T> rows, Accumulator<T>* out) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  A top = -INFINITY;
  for_row(rows.logits + blockIdx.x * rows.columns, rows.valid, rows.wide,
          [&](int64_t, A x) { top = x > top ? x : top; });
  top = block_max(top, parts);
  if (threadIdx.x == 0) out[blockIdx.x] = top;
}

template <class T>
__global__ void exponential_sums(LogitRows<T> rows, const Accumulator<T>* maximum,
                                 Accumulator<T>* sums, Accumulator<T>* picked) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const int64_t r = blockIdx.x;
  const T* row = rows.logits + r * rows.columns;
  const A top = maximum[r];
  A sum = 0;
  for_row(row, rows.valid, rows.wide, [&](int64_t, A x) { sum += exp(x - top); });
  sum = block_sum(sum, parts);
  if (threadIdx.x > 0) return;
  sums[r] = sum;
  picked[r] = picked_of(row, rows.valid, rows.targets[r] - rows.first_id, top);
}

// Each thread keeps its own maximum and shrinks its sum where that grows.
template <class T>
__global__ void statistics(LogitRows<T> rows, Accumulator<T>* maximum, Accumulator<T>* sums,
                           Accumulator<T>* picked) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const int64_t r = blockIdx.x;
  const T* row = rows.logits + r * rows.columns;
  A own = -INFINITY, sum = 0;
  for_row(row, rows.valid, rows.wide, [&](int64_t, A x) {
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
  picked[r] = picked_of(row, rows.valid, rows.targets[r], top);
}

// What is taken from a slope beside the target's weight, as parts of the row's scale.
template <class A>
struct Evenly {
  A spread, kept;
  __device__ A from(A slope, A scale) const { return slope - spread * scale; }
  __device__ A of_target(A scale) const { return kept * scale; }
};
template <class A>
struct NotSpread {
  __device__ A from(A slope, A) const { return slope; }
  __device__ A of_target(A scale) const { return scale; }
};

template <class T, class U, class Spread>
__global__ void logit_gradients(LogitRows<T> rows, const Accumulator<T>* maximum,
                                const Accumulator<T>* sums, const Accumulator<T>* scales,
                                Spread smoothed, U* out) {
  using A = Accumulator<T>;
  constexpr int kPack = Pack<T>::kSize;
  const int64_t columns = rows.columns, valid = rows.valid, r = blockIdx.x,
                own = rows.targets[r] - rows.first_id;
  const T* row = rows.logits + r * columns;
  U* to = out + r * columns;
  const A top = maximum[r], scale = scales[r], factor = scale / sums[r];
  const auto slope = [=](int64_t c, A x) {
    const A made = c < valid ? smoothed.from(exp(x - top) * factor, scale) : A(0);
    return c == own && c < valid ? made - smoothed.of_target(scale) : made;
  };
  const int64_t packs = rows.wide ? columns / kPack : 0;
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
__global__ void sums_below(LogitRows<T> rows, const Accumulator<T>* maximum, Accumulator<T>* out) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const A top = maximum[blockIdx.x];
  A sum = 0;
  for_row(rows.logits + blockIdx.x * rows.columns, rows.valid, rows.wide,
          [&](int64_t, A x) { sum += x - top; });
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

template <class T>
__global__ void exp_moments(LogitRows<T> rows, const Accumulator<T>* maximum,
                            Accumulator<T>* moments) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const A top = maximum[blockIdx.x];
  A sum = 0;
  for_row(rows.logits + blockIdx.x * rows.columns, rows.valid, rows.wide,
          [&](int64_t, A x) { sum += exp(x - top) * (x - top); });
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) moments[blockIdx.x] = sum;
}

template <class T, class U>
__global__ void entropic_gradients(LogitRows<T> rows, const Accumulator<T>* maximum,
                                   const Accumulator<T>* sums, const Accumulator<T>* scales,
                                   const Accumulator<T>* entropies,
                                   const Accumulator<T>* entropy_scales, U* out) {
  using A = Accumulator<T>;
  const int64_t columns = rows.columns, valid = rows.valid, r = blockIdx.x,
                own = rows.targets[r] - rows.first_id;
  const T* row = rows.logits + r * columns;
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

template <class A>
struct SmoothedLoss {
  A kept, spread;
  __device__ A operator()(A sum, A target, A all) const {
    return log(sum) - kept * target - spread * all;
  }
};

struct RowEntropy {
  template <class A>
  __device__ A operator()(A sum_exp, A moment) const {
    const double sum = sum_exp;
    return static_cast<A>(log(sum) - moment / sum);
  }
};

template <class T>
__global__ void mean_squares(const T* x, const float* values, int64_t columns,
                             Accumulator<T>* losses) {
  __shared__ double parts[kWarp];
  const int64_t row = blockIdx.x;
  double sum = 0;
  for_row(x + row * columns, columns, false, [&](int64_t c, Accumulator<T> said) {
    const double miss = static_cast<double>(said) - static_cast<double>(values[row * columns + c]);
    sum += miss * miss;
  });
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0)
    losses[row] = static_cast<Accumulator<T>>(sum / static_cast<double>(columns));
}

template <class T>
__global__ void mean_square_slopes(const T* x, const float* values, const Accumulator<T>* scales,
                                   int64_t columns, T* dx) {
  const int64_t row = blockIdx.x;
  const double scale = static_cast<double>(scales[row]), count = static_cast<double>(columns);
  for_row(x + row * columns, columns, false, [&](int64_t c, Accumulator<T> said) {
    const int64_t at = row * columns + c;
    const double miss = static_cast<double>(said) - static_cast<double>(values[at]);
    store(dx + at, static_cast<Accumulator<T>>(2 * miss * scale / count));
  });
}

template <class T>
LogitRows<T> view(const Tensor& logits, const VocabShard& shard, const Tensor& targets) {
  return {logits.data<T>(), logits.dim(1),     shard.valid,
          shard.first_id,   wide_rows(logits), targets.data_or_null<int32_t>()};
}

// spread(tag of the accumulator type) says what is spread over all ids.
template <class MakeSpread>
void launch_gradients(const char* name, Cuda on, const PredictedRows& rows, const Tensor& row_scale,
                      const MakeSpread& spread, const Tensor& dlogits) {
  visit_logits(rows.logits.dtype(), dlogits.dtype(), [&]<class T, class U>(TypeTag<T>, TypeTag<U>) {
    using A = Accumulator<T>;
    LogitRows<T> seen = view<T>(rows.logits, rows.shard, rows.targets);
    seen.wide = seen.wide && wide_rows(dlogits);
    const auto smoothed = spread(TypeTag<A>{});
    launch(name, on, logit_gradients<T, U, decltype(smoothed)>, grid_of(rows.logits.dim(0)),
           kThreads, 0, seen, rows.maximum.data<A>(), rows.sum_exp.data<A>(), row_scale.data<A>(),
           smoothed, dlogits.data<U>());
  });
}

}  // namespace

void row_maximum(Cuda on, const Tensor& logits, int64_t valid, Out maximum) {
  visit_float(logits.dtype(), [&]<class T>(TypeTag<T>) {
    launch("row_maximum", on, maxima<T>, grid_of(logits.dim(0)), kThreads, 0,
           view<T>(logits, {0, valid}, {}), maximum->data<Accumulator<T>>());
  });
}

void row_sum_exp(Cuda on, const Tensor& logits, const VocabShard& shard, const Tensor& maximum,
                 const Tensor& targets, Out sum_exp, Out target_logit) {
  visit_float(logits.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    launch("row_sum_exp", on, exponential_sums<T>, grid_of(logits.dim(0)), kThreads, 0,
           view<T>(logits, shard, targets), maximum.data<A>(), sum_exp->data<A>(),
           target_logit->data<A>());
  });
}

void row_statistics(Cuda on, const Tensor& logits, int64_t valid, const Tensor& targets,
                    Out maximum, Out sum_exp, Out target_logit) {
  visit_float(logits.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    launch("row_statistics", on, statistics<T>, grid_of(logits.dim(0)), kThreads, 0,
           view<T>(logits, {0, valid}, targets), maximum->data<A>(), sum_exp->data<A>(),
           target_logit->data<A>());
  });
}

void row_losses(Cuda on, const Tensor& sum_exp, const Tensor& target_logit, Out losses) {
  visit_float(losses->dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    map("row_losses", on, losses->size(), LogDifference{}, losses->data<A>(), sum_exp.data<A>(),
        target_logit.data<A>());
  });
}

void row_exp_moment(Cuda on, const Tensor& logits, int64_t valid, const Tensor& maximum,
                    Out moment) {
  visit_float(logits.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    launch("row_exp_moment", on, exp_moments<T>, grid_of(logits.dim(0)), kThreads, 0,
           view<T>(logits, {0, valid}, {}), maximum.data<A>(), moment->data<A>());
  });
}

void row_entropies(Cuda on, const Tensor& sum_exp, const Tensor& moment, Out entropies) {
  visit_float(entropies->dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    map("row_entropies", on, entropies->size(), RowEntropy{}, entropies->data<A>(),
        sum_exp.data<A>(), moment.data<A>());
  });
}

void entropic_backward(Cuda on, const PredictedRows& rows, const Tensor& row_scale,
                       const Tensor& entropy, const Tensor& entropy_scale, Out dlogits) {
  visit_logits(
      rows.logits.dtype(), dlogits->dtype(), [&]<class T, class U>(TypeTag<T>, TypeTag<U>) {
        using A = Accumulator<T>;
        launch("entropic_backward", on, entropic_gradients<T, U>, grid_of(rows.logits.dim(0)),
               kThreads, 0, view<T>(rows.logits, rows.shard, rows.targets), rows.maximum.data<A>(),
               rows.sum_exp.data<A>(), row_scale.data<A>(), entropy.data<A>(),
               entropy_scale.data<A>(), dlogits->data<U>());
      });
}

void cross_entropy_backward(Cuda on, const PredictedRows& rows, const Tensor& row_scale,
                            Out dlogits) {
  const auto spread = []<class A>(TypeTag<A>) { return NotSpread<A>{}; };
  launch_gradients("cross_entropy_backward", on, rows, row_scale, spread, *dlogits);
}

void row_sums(Cuda on, const Tensor& logits, int64_t valid, const Tensor& maximum, Out sums) {
  visit_float(logits.dtype(), [&]<class T>(TypeTag<T>) {
    launch("row_sums", on, sums_below<T>, grid_of(logits.dim(0)), kThreads, 0,
           view<T>(logits, {0, valid}, {}), maximum.data<Accumulator<T>>(),
           sums->data<Accumulator<T>>());
  });
}

void smoothed_losses(Cuda on, const Tensor& sum_exp, const Tensor& target_logit, const Tensor& sums,
                     const Smoothing& smoothing, Out losses) {
  visit_float(losses->dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const SmoothedLoss<A> loss{A(1 - smoothing.share), A(smoothing.spread())};
    map("smoothed_losses", on, losses->size(), loss, losses->data<A>(), sum_exp.data<A>(),
        target_logit.data<A>(), sums.data<A>());
  });
}

void smoothed_backward(Cuda on, const PredictedRows& rows, const Tensor& row_scale,
                       const Smoothing& smoothing, Out dlogits) {
  const auto spread = [&]<class A>(TypeTag<A>) {
    return Evenly<A>{A(smoothing.spread()), A(1 - smoothing.share)};
  };
  launch_gradients("smoothed_backward", on, rows, row_scale, spread, *dlogits);
}

void squared_errors(Cuda on, const Tensor& x, const Tensor& values, Out losses) {
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    launch("squared_errors", on, mean_squares<T>, grid_of(x.dim(0)), kThreads, 0, x.data<T>(),
           values.data<float>(), x.dim(1), losses->data<Accumulator<T>>());
  });
}

void squared_errors_backward(Cuda on, const Tensor& x, const Tensor& values,
                             const Tensor& row_scale, Out dx) {
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    launch("squared_errors_backward", on, mean_square_slopes<T>, grid_of(x.dim(0)), kThreads, 0,
           x.data<T>(), values.data<float>(), row_scale.data<Accumulator<T>>(), x.dim(1),
           dx->data<T>());
  });
}

}  // namespace skein::kernels
