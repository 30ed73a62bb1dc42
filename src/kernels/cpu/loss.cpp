#include "skein/kernels/loss.h"

#include <limits>

#include "skein/core/profile.h"

#include "../logit_types.h"
#include "parallel.h"
#include "vector.h"

namespace skein::kernels {
namespace {

// make(tag, row_of) gives what to do with row number r.
template <class Make>
void with_rows(const Tensor& logits, const Make& make) {
  const Span span("cross entropy");
  const int64_t columns = logits.dim(1);
  visit_float(logits.dtype(), [&]<class T>(TypeTag<T> tag) {
    const T* in = logits.data<T>();
    const auto work = make(tag, [=](int64_t r) { return in + r * columns; });
    parallel_ranges(logits.dim(0), row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) work(r);
    });
  });
}

template <class A, class T>
A largest_of(const T* row, int64_t valid) {
  return valid > 0 ? lane_max<A>(valid, [=](int64_t c) { return load(row + c); })
                   : -std::numeric_limits<A>::infinity();
}

// 0 where another shard holds the target.
template <class T, class A>
A target_of(const T* row, int64_t valid, int64_t target, A largest) {
  return target >= 0 && target < valid ? load(row + target) - largest : A(0);
}

// make(tag)(r) gives the slope of a logit of row r by how far it is below the largest; the target's
// is less by its share of row_scale.
template <class Make>
void with_gradient_rows(const PredictedRows& rows, const Tensor& row_scale, const Tensor& dlogits,
                        const Make& make, double target_share = 1) {
  const Span span("cross entropy backward");
  const int64_t columns = rows.logits.dim(1), valid = rows.shard.valid,
                first_id = rows.shard.first_id;
  const int32_t* target = rows.targets.data<int32_t>();
  visit_logits(
      rows.logits.dtype(), dlogits.dtype(), [&]<class T, class U>(TypeTag<T> tag, TypeTag<U>) {
        using A = Accumulator<T>;
        const T* in = rows.logits.data<T>();
        U* to = dlogits.data<U>();
        const A *largest = rows.maximum.data<A>(), *scales = row_scale.data<A>();
        const auto slope_of = make(tag);
        const A share = A(target_share);
        parallel_ranges(rows.logits.dim(0), row_grain(columns), [=](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            const T* row = in + r * columns;
            U* out = to + r * columns;
            const A top = largest[r];
            const auto slope = slope_of(r);
            const int64_t own = target[r] - first_id;
            const bool held = own >= 0 && own < valid;
            const A hit = held ? slope(load(row + own) - top) - share * scales[r] : A(0);
            for (int64_t c = 0; c < valid; ++c) store(out + c, slope(load(row + c) - top));
            for (int64_t c = valid; c < columns; ++c) store(out + c, A(0));
            if (held) store(out + own, hit);
          }
        });
      });
}

}  // namespace

void row_maximum(Cpu, const Tensor& logits, int64_t valid, Out maximum) {
  with_rows(logits, [&]<class T>(TypeTag<T>, auto row_of) {
    using A = Accumulator<T>;
    A* to = maximum->data<A>();
    return [=](int64_t r) { to[r] = largest_of<A>(row_of(r), valid); };
  });
}

void row_sum_exp(Cpu, const Tensor& logits, const VocabShard& shard, const Tensor& maximum,
                 const Tensor& targets, Out sum_exp, Out target_logit) {
  const int32_t* target = targets.data<int32_t>();
  with_rows(logits, [&]<class T>(TypeTag<T>, auto row_of) {
    using A = Accumulator<T>;
    const A* largest = maximum.data<A>();
    A *sums = sum_exp->data<A>(), *picked = target_logit->data<A>();
    return [=](int64_t r) {
      sums[r] = exponential_sum(row_of(r), shard.valid, largest[r]);
      picked[r] = target_of(row_of(r), shard.valid, target[r] - shard.first_id, largest[r]);
    };
  });
}

void row_statistics(Cpu, const Tensor& logits, int64_t valid, const Tensor& targets, Out maximum,
                    Out sum_exp, Out target_logit) {
  const int32_t* target = targets.data<int32_t>();
  with_rows(logits, [&]<class T>(TypeTag<T>, auto row_of) {
    using A = Accumulator<T>;
    A *largest = maximum->data<A>(), *sums = sum_exp->data<A>(), *picked = target_logit->data<A>();
    return [=](int64_t r) {
      largest[r] = largest_of<A>(row_of(r), valid);
      sums[r] = exponential_sum(row_of(r), valid, largest[r]);
      picked[r] = target_of(row_of(r), valid, target[r], largest[r]);
    };
  });
}

void row_losses(Cpu, const Tensor& sum_exp, const Tensor& target_logit, Out losses) {
  visit_float(losses->dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const A *sum = sum_exp.data<A>(), *target = target_logit.data<A>();
    A* loss = losses->data<A>();
    for (int64_t i = 0; i < losses->size(); ++i) loss[i] = std::log(sum[i]) - target[i];
  });
}

void row_exp_moment(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum, Out moment) {
  with_rows(logits, [&]<class T>(TypeTag<T>, auto row_of) {
    using A = Accumulator<T>;
    const A* largest = maximum.data<A>();
    A* to = moment->data<A>();
    return [=](int64_t r) {
      const auto* row = row_of(r);
      const A top = largest[r];
      to[r] = lane_sum<A>(valid, [=](int64_t c) {
        const A below = load(row + c) - top;
        return exponential(below) * below;
      });
    };
  });
}

void row_entropies(Cpu, const Tensor& sum_exp, const Tensor& moment, Out entropies) {
  visit_float(entropies->dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    for (int64_t i = 0; i < entropies->size(); ++i) {
      const double sum = sum_exp.data<A>()[i];
      entropies->data<A>()[i] = static_cast<A>(std::log(sum) - moment.data<A>()[i] / sum);
    }
  });
}

void entropic_backward(Cpu, const PredictedRows& rows, const Tensor& row_scale,
                       const Tensor& entropy, const Tensor& entropy_scale, Out dlogits) {
  with_gradient_rows(rows, row_scale, *dlogits, [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const A *sums = rows.sum_exp.data<A>(), *scales = row_scale.data<A>(),
            *entropies = entropy.data<A>(), *entropy_scales = entropy_scale.data<A>();
    return [=](int64_t r) {
      const A share = A(1) / sums[r], base = entropies[r] - std::log(sums[r]), scale = scales[r],
              entropy_scale = entropy_scales[r];
      return [=](A below) {
        return exponential(below) * share * (scale - entropy_scale * (below + base));
      };
    };
  });
}

void cross_entropy_backward(Cpu, const PredictedRows& rows, const Tensor& row_scale, Out dlogits) {
  with_gradient_rows(rows, row_scale, *dlogits, [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const A *sums = rows.sum_exp.data<A>(), *scales = row_scale.data<A>();
    return [=](int64_t r) {
      const A factor = scales[r] / sums[r];
      return [=](A below) { return exponential(below) * factor; };
    };
  });
}

void row_sums(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum, Out sums) {
  with_rows(logits, [&]<class T>(TypeTag<T>, auto row_of) {
    using A = Accumulator<T>;
    const A* largest = maximum.data<A>();
    A* to = sums->data<A>();
    return [=](int64_t r) {
      const auto* row = row_of(r);
      const A top = largest[r];
      to[r] = lane_sum<A>(valid, [=](int64_t c) { return load(row + c) - top; });
    };
  });
}

void smoothed_losses(Cpu, const Tensor& sum_exp, const Tensor& target_logit, const Tensor& sums,
                     const Smoothing& smoothing, Out losses) {
  visit_float(losses->dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const A kept = A(1 - smoothing.share), spread = A(smoothing.spread());
    const A *sum = sum_exp.data<A>(), *target = target_logit.data<A>(), *all = sums.data<A>();
    A* loss = losses->data<A>();
    for (int64_t i = 0; i < losses->size(); ++i)
      loss[i] = std::log(sum[i]) - kept * target[i] - spread * all[i];
  });
}

void smoothed_backward(Cpu, const PredictedRows& rows, const Tensor& row_scale,
                       const Smoothing& smoothing, Out dlogits) {
  const auto make = [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const A *sums = rows.sum_exp.data<A>(), *scales = row_scale.data<A>();
    const A spread = A(smoothing.spread());
    return [=](int64_t r) {
      const A factor = scales[r] / sums[r], less = spread * scales[r];
      return [=](A below) { return exponential(below) * factor - less; };
    };
  };
  with_gradient_rows(rows, row_scale, *dlogits, make, 1 - smoothing.share);
}

void squared_errors(Cpu, const Tensor& x, const Tensor& values, Out losses) {
  const Span span("squared errors");
  const int64_t columns = x.dim(1);
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const T* in = x.data<T>();
    const float* wanted = values.data<float>();
    A* loss = losses->data<A>();
    parallel_ranges(x.dim(0), row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const double sum = lane_sum<double>(columns, [=](int64_t i) {
          const int64_t at = row * columns + i;
          const double miss = load(in + at) - static_cast<double>(wanted[at]);
          return miss * miss;
        });
        loss[row] = static_cast<A>(sum / static_cast<double>(columns));
      }
    });
  });
}

void squared_errors_backward(Cpu, const Tensor& x, const Tensor& values, const Tensor& row_scale,
                             Out dx) {
  const Span span("squared errors backward");
  const int64_t columns = x.dim(1);
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const T* in = x.data<T>();
    const float* wanted = values.data<float>();
    const A* scales = row_scale.data<A>();
    T* to = dx->data<T>();
    parallel_ranges(x.dim(0), row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t at = begin * columns; at < end * columns; ++at) {
        const double miss = load(in + at) - static_cast<double>(wanted[at]),
                     scale = static_cast<double>(scales[at / columns]);
        store(to + at, static_cast<A>(2 * miss * scale / static_cast<double>(columns)));
      }
    });
  });
}

}  // namespace skein::kernels
