#include "skein/kernels/norm.h"

#include "skein/core/profile.h"

#include "elements.h"

namespace skein::kernels {
namespace {

// Rows whose columns are summed while they are in a near cache.
constexpr int64_t kRowsAtOnce = 256;

template <class T>
void norm_row(Norm kind, const T* x, const T* gain, const T* bias, double epsilon, int64_t columns,
              T* out, Accumulator<T>* mean, Accumulator<T>* rstd) {
  using A = Accumulator<T>;
  A center = 0;
  if (kind == Norm::layer) {
    center = sum_lanes<T>(columns, [=](auto at) { return at.load(x); }) / A(columns);
    *mean = center;
  }
  const A square = sum_lanes<T>(columns, [=](auto at) {
    const Elements<T> d = at.load(x) - center;
    return d * d;
  });
  const A inverse = A(1) / std::sqrt(square / A(columns) + A(epsilon));
  *rstd = inverse;
  for_lanes<T>(0, columns, [=](auto at) {
    const Elements<T> y = (at.load(x) - center) * inverse * at.load(gain);
    at.store(out, bias ? y + at.load(bias) : y);
  });
}

template <class T>
void norm_row_backward(Norm kind, const T* x, const T* gain, Accumulator<T> mean,
                       Accumulator<T> rstd, const T* dy, const T* more, int64_t columns, T* dx) {
  using A = Accumulator<T>;
  const A center = kind == Norm::layer ? mean : A(0);
  const A along = sum_lanes<T>(columns,
                               [=](auto at) {
                                 return at.load(dy) * at.load(gain) * (at.load(x) - center) * rstd;
                               }) /
                  A(columns);
  const A level =
      kind == Norm::layer
          ? sum_lanes<T>(columns, [=](auto at) { return at.load(dy) * at.load(gain); }) / A(columns)
          : A(0);
  for_lanes<T>(0, columns, [=](auto at) {
    const Elements<T> hat = (at.load(x) - center) * rstd;
    const Elements<T> own = (at.load(dy) * at.load(gain) - level - hat * along) * rstd;
    at.store(dx, more ? at.load(more) + own : own);
  });
}

}  // namespace

void norm(Cpu, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& bias, double epsilon,
          const Tensor& out, const Tensor& mean, const Tensor& rstd, const Residual& residual) {
  const Span span("norm");
  const int64_t columns = gain.size(), rows = x.size() / columns;
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    const T *in = x.data<T>(), *g = gain.data<T>(), *b = bias.defined() ? bias.data<T>() : nullptr;
    T* to = out.data<T>();
    A *means = mean.data<A>(), *rstds = rstd.data<A>();
    const T* branch = residual.branch.defined() ? residual.branch.data<T>() : nullptr;
    T* sum = branch ? residual.sum.data<T>() : nullptr;
    parallel_ranges(rows, row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t row = r * columns;
        if (branch)
          for_lanes<T>(row, row + columns,
                       [=](auto at) { at.store(sum, at.load(in) + at.load(branch)); });
        norm_row(kind, (branch ? sum : in) + row, g, b, epsilon, columns, to + row, means + r,
                 rstds + r);
      }
    });
  });
}

void norm_backward(Cpu, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& mean,
                   const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                   const Tensor& gain_gradient, const Tensor& bias_gradient, const Tensor& more) {
  const Span span("norm backward");
  const int64_t columns = gain.size(), rows = x.size() / columns;
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    const T *in = x.data<T>(), *g = gain.data<T>(), *slope = dy.data<T>();
    T* out = dx.data<T>();
    const T* besides = more.defined() ? more.data<T>() : nullptr;
    const A *means = mean.data<A>(), *rstds = rstd.data<A>();
    A *gain_sum = gain_gradient.data<A>(),
      *bias_sum = bias_gradient.defined() ? bias_gradient.data<A>() : nullptr;
    for (int64_t from = 0; from < rows; from += kRowsAtOnce) {
      const int64_t to = std::min(rows, from + kRowsAtOnce);
      parallel_ranges(to - from, row_grain(columns), [=](int64_t begin, int64_t end) {
        for (int64_t r = from + begin; r < from + end; ++r)
          norm_row_backward(kind, in + r * columns, g, means[r], rstds[r], slope + r * columns,
                            besides ? besides + r * columns : nullptr, columns, out + r * columns);
      });
      parallel_ranges(columns, column_grain(columns), [=](int64_t begin, int64_t end) {
        for_lanes<T>(begin, end, [=](auto at) {
          Elements<T> gains = at.load(gain_sum),
                      biases = bias_sum ? at.load(bias_sum) : Elements<T>{};
          for (int64_t r = from; r < to; ++r) {
            const Elements<T> d = at.load(slope + r * columns);
            gains += d * (at.load(in + r * columns) - (kind == Norm::layer ? means[r] : A(0))) *
                     rstds[r];
            biases += d;
          }
          at.store(gain_sum, gains);
          if (bias_sum) at.store(bias_sum, biases);
        });
      });
    }
  });
}

}  // namespace skein::kernels
