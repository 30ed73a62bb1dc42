#include "skein/kernels/norm.h"

#include "parallel.h"
#include "skein/core/profile.h"
#include "vector.h"

namespace skein::kernels {
namespace {

template <class T>
void norm_row(Norm kind, const T* x, const T* gain, const T* bias, double epsilon, int64_t columns, T* out,
              Accumulator<T>* mean, Accumulator<T>* rstd) {
  using A = Accumulator<T>;
  A center = 0;
  if (kind == Norm::layer) {
    center = lane_sum<A>(columns, [=](int64_t i) { return load(x + i); }) / A(columns);
    *mean = center;
  }
  const A square = lane_sum<A>(columns, [=](int64_t i) {
    const A d = load(x + i) - center;
    return d * d;
  });
  const A inverse = A(1) / std::sqrt(square / A(columns) + A(epsilon));
  *rstd = inverse;
  for (int64_t i = 0; i < columns; ++i) {
    A y = (load(x + i) - center) * inverse * load(gain + i);
    if (bias) y += load(bias + i);
    store(out + i, y);
  }
}

template <class T>
void norm_row_backward(Norm kind, const T* x, const T* gain, Accumulator<T> mean, Accumulator<T> rstd, const T* dy,
                       int64_t columns, T* dx) {
  using A = Accumulator<T>;
  const A center = kind == Norm::layer ? mean : A(0);
  const A along = lane_sum<A>(columns, [=](int64_t i) {
    return load(dy + i) * load(gain + i) * (load(x + i) - center) * rstd;
  }) / A(columns);
  const A level = kind == Norm::layer
      ? lane_sum<A>(columns, [=](int64_t i) { return load(dy + i) * load(gain + i); }) / A(columns)
      : A(0);
  for (int64_t i = 0; i < columns; ++i) {
    const A hat = (load(x + i) - center) * rstd;
    store(dx + i, (load(dy + i) * load(gain + i) - level - hat * along) * rstd);
  }
}

}  // namespace

void norm(Cpu, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& bias, double epsilon, const Tensor& out,
          const Tensor& mean, const Tensor& rstd) {
  const Span span("norm");
  const int64_t columns = gain.size(), rows = x.size() / columns;
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    const T *in = x.data<T>(), *g = gain.data<T>(), *b = bias.defined() ? bias.data<T>() : nullptr;
    T* to = out.data<T>();
    A *means = mean.data<A>(), *rstds = rstd.data<A>();
    parallel_ranges(rows, row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        norm_row(kind, in + r * columns, g, b, epsilon, columns, to + r * columns, means + r, rstds + r);
    });
  });
}

void norm_backward(Cpu, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& mean, const Tensor& rstd,
                   const Tensor& dy, const Tensor& dx, const Tensor& gain_gradient, const Tensor& bias_gradient) {
  const Span span("norm backward");
  const int64_t columns = gain.size(), rows = x.size() / columns;
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    const T *in = x.data<T>(), *g = gain.data<T>(), *slope = dy.data<T>();
    T* to = dx.data<T>();
    const A *means = mean.data<A>(), *rstds = rstd.data<A>();
    A *gain_sum = gain_gradient.data<A>(), *bias_sum = bias_gradient.defined() ? bias_gradient.data<A>() : nullptr;
    parallel_ranges(rows, row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        norm_row_backward(kind, in + r * columns, g, means[r], rstds[r], slope + r * columns, columns, to + r * columns);
    });
    parallel_ranges(columns, column_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t r = 0; r < rows; ++r) {
        const A center = kind == Norm::layer ? means[r] : A(0);
        for (int64_t c = begin; c < end; ++c) {
          const A d = load(slope + r * columns + c);
          gain_sum[c] += d * (load(in + r * columns + c) - center) * rstds[r];
          if (bias_sum) bias_sum[c] += d;
        }
      }
    });
  });
}

}  // namespace skein::kernels
