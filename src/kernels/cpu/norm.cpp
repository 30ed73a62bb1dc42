#include "skein/kernels/norm.h"

#include "skein/core/profile.h"

#include "elements.h"

namespace skein::kernels {
namespace {

// Rows whose columns are summed while they are in a near cache.
constexpr int64_t kRowsAtOnce = 256;

// What every row of a norm meets.
template <class T>
struct Rows {
  using A = Accumulator<T>;
  Norm kind;
  int64_t columns;
  const T *gain, *bias;  // bias may be null
  A epsilon;

  void norm(const T* x, T* out, A* mean, A* rstd) const {
    A center = 0;
    if (kind == Norm::layer) {
      center = sum_lanes<T>(columns, [=](auto at) { return at.load(x); }) / A(columns);
      *mean = center;
    }
    const A square = sum_lanes<T>(columns, [=](auto at) {
      const Elements<T> d = at.load(x) - center;
      return d * d;
    });
    const A inverse = A(1) / std::sqrt(square / A(columns) + epsilon);
    *rstd = inverse;
    const A base = A(gain_center(kind));
    for_lanes<T>(0, columns, [=, gain = gain, bias = bias](auto at) {
      const Elements<T> y = (at.load(x) - center) * inverse * (base + at.load(gain));
      at.store(out, bias ? y + at.load(bias) : y);
    });
  }

  // more: what else flows to x, or null.
  void backward(const T* x, A mean, A rstd, const T* dy, const T* more, T* dx) const {
    const A center = kind == Norm::layer ? mean : A(0);
    const A base = A(gain_center(kind));
    const auto slope = [dy, base, gain = gain](auto at) {
      return at.load(dy) * (base + at.load(gain));
    };
    const A along =
        sum_lanes<T>(columns, [=](auto at) { return slope(at) * (at.load(x) - center) * rstd; }) /
        A(columns);
    const A level = kind == Norm::layer ? sum_lanes<T>(columns, slope) / A(columns) : A(0);
    for_lanes<T>(0, columns, [=](auto at) {
      const Elements<T> hat = (at.load(x) - center) * rstd;
      const Elements<T> own = (slope(at) - level - hat * along) * rstd;
      at.store(dx, more ? at.load(more) + own : own);
    });
  }
};

}  // namespace

void norm(Cpu, const Tensor& x, const NormArguments& arguments, Out out, Out mean, Out rstd,
          Out sum) {
  const Span span("norm");
  const int64_t columns = arguments.gain.size(), rows = x.size() / columns;
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const Rows<T> each{arguments.kind, columns, arguments.gain.data<T>(),
                       arguments.bias.data_or_null<T>(), A(arguments.epsilon)};
    const T *in = x.data<T>(), *branch = arguments.branch.data_or_null<T>();
    T *to = out->data<T>(), *sums = branch ? sum->data<T>() : nullptr;
    A *means = mean->data<A>(), *rstds = rstd->data<A>();
    parallel_ranges(rows, row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t row = r * columns;
        if (branch)
          for_lanes<T>(row, row + columns,
                       [=](auto at) { at.store(sums, at.load(in) + at.load(branch)); });
        each.norm((branch ? sums : in) + row, to + row, means + r, rstds + r);
      }
    });
  });
}

void norm_backward(Cpu, const NormedRows& normed, const Tensor& dy, const Tensor& more, Out dx,
                   Out gain_gradient, Out bias_gradient) {
  const Span span("norm backward");
  const Norm kind = normed.kind;
  const int64_t columns = normed.gain.size(), rows = normed.x.size() / columns;
  visit_float(normed.x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const Rows<T> each{kind, columns, normed.gain.data<T>(), nullptr, A(0)};
    const T *in = normed.x.data<T>(), *slope = dy.data<T>(), *besides = more.data_or_null<T>();
    T* out = dx->data<T>();
    const A *means = normed.mean.data<A>(), *rstds = normed.rstd.data<A>();
    A *gain_sum = gain_gradient->data_or_null<A>(), *bias_sum = bias_gradient->data_or_null<A>();
    for (int64_t from = 0; from < rows; from += kRowsAtOnce) {
      const int64_t to = std::min(rows, from + kRowsAtOnce);
      parallel_ranges(to - from, row_grain(columns), [=](int64_t begin, int64_t end) {
        for (int64_t r = from + begin; r < from + end; ++r) {
          const int64_t row = r * columns;
          each.backward(in + row, means[r], rstds[r], slope + row,
                        besides ? besides + row : nullptr, out + row);
        }
      });
      if (!gain_sum && !bias_sum) continue;
      parallel_ranges(columns, column_grain(columns), [=](int64_t begin, int64_t end) {
        for_lanes<T>(begin, end, [=](auto at) {
          Elements<T> gains = gain_sum ? at.load(gain_sum) : Elements<T>{},
                      biases = bias_sum ? at.load(bias_sum) : Elements<T>{};
          for (int64_t r = from; r < to; ++r) {
            const Elements<T> d = at.load(slope + r * columns);
            gains += d * (at.load(in + r * columns) - (kind == Norm::layer ? means[r] : A(0))) *
                     rstds[r];
            biases += d;
          }
          if (gain_sum) at.store(gain_sum, gains);
          if (bias_sum) at.store(bias_sum, biases);
        });
      });
    }
  });
}

}  // namespace skein::kernels
