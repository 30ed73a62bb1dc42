#include "skein/kernels/norm.h"

#include "common.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 256;

// A block a row.
template <class T>
__global__ void norm_rows(Norm kind, int64_t columns, Accumulator<T> epsilon, const T* x, const T* branch, T* sum, const T* gain, const T* bias,
                          T* out, Accumulator<T>* means, Accumulator<T>* rstds) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const int64_t row = blockIdx.x;
  const T* in = x + row * columns;
  if (branch) {
    for (int64_t c = threadIdx.x; c < columns; c += blockDim.x)
      store(sum + row * columns + c, load(in + c) + load(branch + row * columns + c));
    // Each thread reads only what it wrote.
    in = sum + row * columns;
  }
  A mean = 0;
  if (kind == Norm::layer) {
    A total = 0;
    for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) total += load(in + c);
    mean = block_sum(total, parts) / A(columns);
  }
  A square = 0;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const A d = load(in + c) - mean;
    square += d * d;
  }
  const A rstd = A(1) / sqrt(block_sum(square, parts) / A(columns) + epsilon);
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const A y = (load(in + c) - mean) * rstd * load(gain + c);
    store(out + row * columns + c, bias ? y + load(bias + c) : y);
  }
  if (threadIdx.x > 0) return;
  if (kind == Norm::layer) means[row] = mean;
  rstds[row] = rstd;
}

template <class T>
__global__ void norm_backward_rows(Norm kind, int64_t columns, const T* x, const T* gain, const Accumulator<T>* means,
                                   const Accumulator<T>* rstds, const T* dy, const T* more, T* dx) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarp];
  const int64_t row = blockIdx.x;
  const T *in = x + row * columns, *slope = dy + row * columns;
  const A mean = kind == Norm::layer ? means[row] : A(0), rstd = rstds[row];
  A along = 0, level = 0;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const A d = load(slope + c) * load(gain + c);
    along += d * (load(in + c) - mean) * rstd;
    level += d;
  }
  along = block_sum(along, parts) / A(columns);
  level = kind == Norm::layer ? block_sum(level, parts) / A(columns) : A(0);
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const A hat = (load(in + c) - mean) * rstd, own = (load(slope + c) * load(gain + c) - level - hat * along) * rstd;
    store(dx + row * columns + c, more ? load(more + row * columns + c) + own : own);
  }
}

// Each block sums 32 columns over all rows, its warps taking rows in turn.
template <class T>
__global__ void gain_gradients(Norm kind, int64_t rows, int64_t columns, const T* x, const Accumulator<T>* means, const Accumulator<T>* rstds,
                               const T* dy, Accumulator<T>* gains, Accumulator<T>* biases) {
  using A = Accumulator<T>;
  constexpr int kWarps = kThreads / kWarp;
  __shared__ A gain_parts[kWarps][kWarp], bias_parts[kWarps][kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kWarp + lane;
  A gain = 0, bias = 0;
  if (column < columns)
    for (int64_t r = warp; r < rows; r += kWarps) {
      const A d = load(dy + r * columns + column), center = kind == Norm::layer ? means[r] : A(0);
      gain += d * (load(x + r * columns + column) - center) * rstds[r];
      bias += d;
    }
  gain_parts[warp][lane] = gain;
  bias_parts[warp][lane] = bias;
  __syncthreads();
  if (warp > 0 || column >= columns) return;
  for (int w = 1; w < kWarps; ++w) {
    gain += gain_parts[w][lane];
    bias += bias_parts[w][lane];
  }
  gains[column] += gain;
  if (biases) biases[column] += bias;
}

template <class T>
T* data_or_null(const Tensor& x) { return x.defined() ? x.data<T>() : nullptr; }

}  // namespace

void norm(Cuda on, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& bias, double epsilon, const Tensor& out, const Tensor& mean,
          const Tensor& rstd, const Residual& residual) {
  const int64_t columns = gain.size(), rows = x.size() / columns;
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    launch("norm", on, norm_rows<T>, dim3(static_cast<unsigned>(rows)), kThreads, 0, kind, columns, A(epsilon), x.data<T>(),
           data_or_null<T>(residual.branch), data_or_null<T>(residual.sum), gain.data<T>(), data_or_null<T>(bias), out.data<T>(), mean.data<A>(),
           rstd.data<A>());
  });
}

void norm_backward(Cuda on, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& mean, const Tensor& rstd, const Tensor& dy,
                   const Tensor& dx, const Tensor& gain_gradient, const Tensor& bias_gradient, const Tensor& more) {
  const int64_t columns = gain.size(), rows = x.size() / columns;
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    launch("norm_backward", on, norm_backward_rows<T>, dim3(static_cast<unsigned>(rows)), kThreads, 0, kind, columns, x.data<T>(), gain.data<T>(),
           mean.data<A>(), rstd.data<A>(), dy.data<T>(), data_or_null<T>(more), dx.data<T>());
    launch("norm_backward of gains", on, gain_gradients<T>, dim3(static_cast<unsigned>(pieces_of(columns, kWarp))), kThreads, 0, kind, rows,
           columns, x.data<T>(), mean.data<A>(), rstd.data<A>(), dy.data<T>(), gain_gradient.data<A>(), data_or_null<A>(bias_gradient));
  });
}

}  // namespace skein::kernels
