#include "skein/kernels/norm.h"

#include "columns.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 256;

// A block a row; what is read again comes from the nearest cache.
template <class T>
__global__ void norm_rows(Norm kind, int64_t columns, bool wide, Accumulator<T> epsilon, const T* x,
                          const T* branch, T* sum, const T* gain, const T* bias, T* out,
                          Accumulator<T>* means, Accumulator<T>* rstds) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const int64_t row = blockIdx.x;
  const T* in = x + row * columns;
  if (branch) {
    map_row(
        sum + row * columns, columns, wide, [](int64_t, A a, A b) { return a + b; }, in,
        branch + row * columns);
    // Each thread reads only what it wrote.
    in = sum + row * columns;
  }
  A mean = 0;
  if (kind == Norm::layer) {
    A total = 0;
    for_row(in, columns, wide, [&](int64_t, A value) { total += value; });
    mean = block_sum(total, parts) / A(columns);
  }
  A square = 0;
  for_row(in, columns, wide, [&](int64_t, A value) { square += (value - mean) * (value - mean); });
  const A rstd = A(1) / sqrt(block_sum(square, parts) / A(columns) + epsilon);
  T* to = out + row * columns;
  if (bias)
    map_row(
        to, columns, wide,
        [=](int64_t, A value, A g, A b) { return (value - mean) * rstd * g + b; }, in, gain, bias);
  else
    map_row(
        to, columns, wide, [=](int64_t, A value, A g) { return (value - mean) * rstd * g; }, in,
        gain);
  if (threadIdx.x > 0) return;
  if (kind == Norm::layer) means[row] = mean;
  rstds[row] = rstd;
}

template <class T>
__global__ void norm_backward_rows(Norm kind, int64_t columns, bool wide, const T* x, const T* gain,
                                   const Accumulator<T>* means, const Accumulator<T>* rstds,
                                   const T* dy, const T* more, T* dx) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const int64_t row = blockIdx.x;
  const T *in = x + row * columns, *slope = dy + row * columns;
  const A mean = kind == Norm::layer ? means[row] : A(0), rstd = rstds[row];
  A along = 0, level = 0;
  for_rows(
      columns, wide,
      [&](A value, A d, A g) {
        along += d * g * (value - mean) * rstd;
        level += d * g;
      },
      in, slope, gain);
  along = block_sum(along, parts) / A(columns);
  level = kind == Norm::layer ? block_sum(level, parts) / A(columns) : A(0);
  const auto own = [=](A value, A d, A g) {
    return (d * g - level - (value - mean) * rstd * along) * rstd;
  };
  T* to = dx + row * columns;
  if (more)
    map_row(
        to, columns, wide,
        [=](int64_t, A value, A d, A g, A other) { return other + own(value, d, g); }, in, slope,
        gain, more + row * columns);
  else
    map_row(
        to, columns, wide, [=](int64_t, A value, A d, A g) { return own(value, d, g); }, in, slope,
        gain);
}

// What kWidth columns of a row give to the gradients of gain and bias.
template <class T, int kWidth>
struct GainGradient {
  const T *x, *dy;
  const Accumulator<T>*means, *rstds;
  int64_t columns;
  __device__ void operator()(int64_t row, int64_t column, Accumulator<T> (&sums)[2][kWidth]) const {
    using A = Accumulator<T>;
    const auto slopes = load_some<kWidth>(dy + row * columns + column),
               values = load_some<kWidth>(x + row * columns + column);
    const A mean = means ? means[row] : A(0), rstd = rstds[row];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const A d = load(&slopes.at[k]);
      sums[0][k] += d * (load(&values.at[k]) - mean) * rstd;
      sums[1][k] += d;
    }
  }
};

template <class T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

}  // namespace

void norm(Cuda on, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& bias,
          double epsilon, const Tensor& out, const Tensor& mean, const Tensor& rstd,
          const Residual& residual) {
  const int64_t columns = gain.size(), rows = x.size() / columns;
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    launch("norm", on, norm_rows<T>, dim3(static_cast<unsigned>(rows)), kThreads, 0, kind, columns,
           wide_rows(x) && wide_rows(residual.branch) && wide_rows(residual.sum) &&
               wide_rows(gain) && wide_rows(bias) && wide_rows(out),
           A(epsilon), x.data<T>(), data_or_null<T>(residual.branch), data_or_null<T>(residual.sum),
           gain.data<T>(), data_or_null<T>(bias), out.data<T>(), mean.data<A>(), rstd.data<A>());
  });
}

void norm_backward(Cuda on, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& mean,
                   const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                   const Tensor& gain_gradient, const Tensor& bias_gradient, const Tensor& more) {
  const int64_t columns = gain.size(), rows = x.size() / columns;
  const bool wide =
      wide_rows(x) && wide_rows(gain) && wide_rows(dy) && wide_rows(dx) && wide_rows(more);
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    launch("norm_backward", on, norm_backward_rows<T>, dim3(static_cast<unsigned>(rows)), kThreads,
           0, kind, columns, wide, x.data<T>(), gain.data<T>(), mean.data<A>(), rstd.data<A>(),
           dy.data<T>(), data_or_null<T>(more), dx.data<T>());
    by_width<T>(wide, [&](auto width) {
      const GainGradient<T, width> f{x.data<T>(), dy.data<T>(),
                                     kind == Norm::layer ? mean.data<A>() : nullptr, rstd.data<A>(),
                                     columns};
      column_sums<2, width>("norm_backward of gains", on, x.device(), rows, columns, f,
                            {gain_gradient.data<A>(), data_or_null<A>(bias_gradient)});
    });
  });
}

}  // namespace skein::kernels
