#include "skein/kernels/loss.h"

#include <limits>

#include "parallel.h"
#include "skein/core/profile.h"
#include "vector.h"

namespace skein::kernels {
namespace {

// The gradient has the logits' type, or is bf16 of f32 logits.
template <class F>
void visit_logits(DType logits, DType gradient, const F& f) {
  visit_float(logits, [&](auto tag) {
    if (gradient == logits) return f(tag, tag);
    SKEIN_CHECK(logits == DType::f32 && gradient == DType::bf16);
    f(TypeTag<float>{}, TypeTag<BFloat16>{});
  });
}

}  // namespace

void row_maximum(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum) {
  const Span span("cross entropy");
  const int64_t columns = logits.dim(1);
  visit_float(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    const T* in = logits.data<T>();
    A* to = maximum.data<A>();
    parallel_ranges(logits.dim(0), row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* row = in + r * columns;
        to[r] = valid > 0 ? lane_max<A>(valid, [=](int64_t c) { return load(row + c); }) : -std::numeric_limits<A>::infinity();
      }
    });
  });
}

void row_sum_exp(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum, const Tensor& targets,
                 int64_t first_id, const Tensor& sum_exp, const Tensor& target_logit) {
  const Span span("cross entropy");
  const int64_t columns = logits.dim(1);
  const int32_t* target = targets.data<int32_t>();
  visit_float(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    const T* in = logits.data<T>();
    const A* largest = maximum.data<A>();
    A *sums = sum_exp.data<A>(), *picked = target_logit.data<A>();
    parallel_ranges(logits.dim(0), row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* row = in + r * columns;
        const A top = largest[r];
        sums[r] = exponential_sum(row, valid, top);
        const int64_t own = target[r] - first_id;
        picked[r] = own >= 0 && own < valid ? load(row + own) - top : A(0);
      }
    });
  });
}

void row_losses(Cpu, const Tensor& sum_exp, const Tensor& target_logit, const Tensor& losses) {
  visit_float(losses.dtype(), [&](auto tag) {
    using A = Accumulator<typename decltype(tag)::type>;
    const A *sum = sum_exp.data<A>(), *target = target_logit.data<A>();
    A* loss = losses.data<A>();
    for (int64_t i = 0; i < losses.size(); ++i) loss[i] = std::log(sum[i]) - target[i];
  });
}

void cross_entropy_backward(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum, const Tensor& sum_exp,
                            const Tensor& targets, int64_t first_id, const Tensor& row_scale, const Tensor& dlogits) {
  const Span span("cross entropy backward");
  const int64_t columns = logits.dim(1);
  const int32_t* target = targets.data<int32_t>();
  visit_logits(logits.dtype(), dlogits.dtype(), [&](auto tag, auto out_tag) {
    using T = typename decltype(tag)::type;
    using U = typename decltype(out_tag)::type;
    using A = Accumulator<T>;
    const T* in = logits.data<T>();
    U* to = dlogits.data<U>();
    const A *largest = maximum.data<A>(), *sums = sum_exp.data<A>(), *scales = row_scale.data<A>();
    parallel_ranges(logits.dim(0), row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* row = in + r * columns;
        U* out = to + r * columns;
        const A top = largest[r], factor = scales[r] / sums[r];
        const int64_t own = target[r] - first_id;
        const bool held = own >= 0 && own < valid;
        const A hit = held ? exponential(load(row + own) - top) * factor - scales[r] : A(0);
        for (int64_t c = 0; c < valid; ++c) store(out + c, exponential(load(row + c) - top) * factor);
        for (int64_t c = valid; c < columns; ++c) store(out + c, A(0));
        if (held) store(out + own, hit);
      }
    });
  });
}

}  // namespace skein::kernels
