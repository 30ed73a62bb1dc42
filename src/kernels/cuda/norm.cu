#include "skein/kernels/norm.h"

#include "columns.cuh"

namespace skein::kernels {
namespace {

// Of a block for a row: as many as there are 16 bytes in it, so that none stands idle.
template <class T>
int threads_of(int64_t columns) {
  const int64_t warps = pieces_of(pieces_of(columns, Pack<T>::kSize), kWarp);
  return static_cast<int>(warps < 8 ? warps : 8) * kWarp;
}

// What every row of a norm meets.
template <class T>
struct Rows {
  Norm kind;
  int64_t columns;
  bool wide;             // rows are read 16 bytes at a time
  const T *gain, *bias;  // bias may be null
  Accumulator<T> epsilon;
  Accumulator<T> base;  // what gains are added to
};

// A block a row; what is read again comes from the nearest cache. branch may be null, and sum then.
template <class T>
__global__ void norm_rows(Rows<T> each, const T* x, const T* branch, T* sum, T* out,
                          Accumulator<T>* means, Accumulator<T>* rstds) {
  using A = Accumulator<T>;
  const int64_t columns = each.columns;
  const bool wide = each.wide;
  const T *gain = each.gain, *bias = each.bias;
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
  if (each.kind == Norm::layer) {
    A total = 0;
    for_row(in, columns, wide, [&](int64_t, A value) { total += value; });
    mean = block_sum(total, parts) / A(columns);
  }
  A square = 0;
  for_row(in, columns, wide, [&](int64_t, A value) { square += (value - mean) * (value - mean); });
  const A rstd = A(1) / sqrt(block_sum(square, parts) / A(columns) + each.epsilon);
  const A base = each.base;
  T* to = out + row * columns;
  if (bias)
    map_row(
        to, columns, wide,
        [=](int64_t, A value, A g, A b) { return (value - mean) * rstd * (base + g) + b; }, in,
        gain, bias);
  else
    map_row(
        to, columns, wide,
        [=](int64_t, A value, A g) { return (value - mean) * rstd * (base + g); }, in, gain);
  if (threadIdx.x > 0) return;
  if (each.kind == Norm::layer) means[row] = mean;
  rstds[row] = rstd;
}

template <class T>
__global__ void norm_backward_rows(Rows<T> each, const T* x, const Accumulator<T>* means,
                                   const Accumulator<T>* rstds, const T* dy, const T* more, T* dx) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const int64_t columns = each.columns;
  const bool wide = each.wide;
  const T* gain = each.gain;
  const int64_t row = blockIdx.x;
  const T *in = x + row * columns, *slope = dy + row * columns;
  const A mean = each.kind == Norm::layer ? means[row] : A(0), rstd = rstds[row];
  const A base = each.base;
  A along = 0, level = 0;
  for_rows(
      columns, wide,
      [&](A value, A d, A g) {
        along += d * (base + g) * (value - mean) * rstd;
        level += d * (base + g);
      },
      in, slope, gain);
  along = block_sum(along, parts) / A(columns);
  level = each.kind == Norm::layer ? block_sum(level, parts) / A(columns) : A(0);
  const auto own = [=](A value, A d, A g) {
    return (d * (base + g) - level - (value - mean) * rstd * along) * rstd;
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

}  // namespace

void norm(Cuda on, const Tensor& x, const NormArguments& arguments, Out out, Out mean, Out rstd,
          Out sum) {
  const Tensor &gain = arguments.gain, &bias = arguments.bias, &branch = arguments.branch;
  const int64_t columns = gain.size(), rows = x.size() / columns;
  const bool wide = wide_rows(x) && wide_rows(branch) && wide_rows(*sum) && wide_rows(gain) &&
                    wide_rows(bias) && wide_rows(*out);
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const Rows<T> each{arguments.kind,
                       columns,
                       wide,
                       gain.data<T>(),
                       bias.data_or_null<T>(),
                       A(arguments.epsilon),
                       A(gain_center(arguments.kind))};
    launch("norm", on, norm_rows<T>, grid_of(rows), threads_of<T>(columns), 0, each, x.data<T>(),
           branch.data_or_null<T>(), sum->data_or_null<T>(), out->data<T>(), mean->data<A>(),
           rstd->data<A>());
  });
}

void norm_backward(Cuda on, const NormedRows& normed, const Tensor& dy, const Tensor& more, Out dx,
                   Out gain_gradient, Out bias_gradient) {
  const Norm kind = normed.kind;
  const Tensor &x = normed.x, &gain = normed.gain, &mean = normed.mean, &rstd = normed.rstd;
  const int64_t columns = gain.size(), rows = x.size() / columns;
  const bool wide =
      wide_rows(x) && wide_rows(gain) && wide_rows(dy) && wide_rows(*dx) && wide_rows(more);
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const Rows<T> each{kind, columns, wide, gain.data<T>(), nullptr, A(0), A(gain_center(kind))};
    launch("norm_backward", on, norm_backward_rows<T>, grid_of(rows), threads_of<T>(columns), 0,
           each, x.data<T>(), mean.data<A>(), rstd.data<A>(), dy.data<T>(), more.data_or_null<T>(),
           dx->data<T>());
    if (!gain_gradient->defined() && !bias_gradient->defined()) return;
    by_width<T>(wide, [&](auto width) {
      const GainGradient<T, width> f{x.data<T>(), dy.data<T>(),
                                     kind == Norm::layer ? mean.data<A>() : nullptr, rstd.data<A>(),
                                     columns};
      column_sums<2, width>("norm_backward of gains", on, x.device(), rows, columns, f,
                            {gain_gradient->data_or_null<A>(), bias_gradient->data_or_null<A>()});
    });
  });
}

}  // namespace skein::kernels
