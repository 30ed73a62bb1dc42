#include "skein/kernels/elementwise.h"

#include "math.cuh"
#include "philox.cuh"

namespace skein::kernels {
namespace {

template <class F>
void visit(const Tensor& x, const F& f) {
  visit_float(x.dtype(), [&](auto tag) { f(tag); });
}

struct Sum {
  template <class A>
  __device__ A operator()(A x, A y) const { return x + y; }
};

template <class A>
struct Scale {
  A by;
  __device__ A operator()(A x) const { return x * by; }
};

struct Swiglu {
  template <class A>
  __device__ A operator()(A gate, A up) const { return gate * logistic(gate) * up; }
};
struct SwigluUp {
  template <class A>
  __device__ A operator()(A gate, A, A dy) const { return dy * gate * logistic(gate); }
};
struct SwigluGate {
  template <class A>
  __device__ A operator()(A gate, A up, A dy) const {
    const A s = logistic(gate);
    return dy * up * s * (A(1) + gate * (A(1) - s));
  }
};

constexpr int kThreads = 256;

template <class T>
__global__ void add_bias_rows(int64_t count, int64_t columns, const T* x, const T* bias, T* out) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) store(out + i, load(x + i) + load(bias + i % columns));
}

// A block sums 32 columns: its warps take rows in turn, and the warps' sums are added in order.
template <class T>
__global__ void sum_rows(int64_t rows, int64_t columns, const T* x, Accumulator<T>* sums) {
  using A = Accumulator<T>;
  __shared__ A parts[kThreads / kWarp][kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kWarp + lane;
  A sum = 0;
  if (column < columns)
    for (int64_t r = warp; r < rows; r += kThreads / kWarp) sum += load(x + r * columns + column);
  parts[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= columns) return;
  for (int w = 1; w < kThreads / kWarp; ++w) sum += parts[w][lane];
  sums[column] += sum;
}

template <class T>
__global__ void drop(int64_t per_sample, int64_t first, uint64_t key, uint32_t threshold, Accumulator<T> keep, const int64_t* ids, const T* x,
                     T* out) {
  const int64_t sample = blockIdx.y, block = first / 4 + static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (block * 4 >= first + per_sample) return;
  const DeviceBlock bits = philox_on_device(key, static_cast<uint64_t>(ids[sample]), static_cast<uint64_t>(block));
  for (int w = 0; w < 4; ++w) {
    const int64_t i = block * 4 + w - first;
    if (i < 0 || i >= per_sample) continue;
    const int64_t at = sample * per_sample + i;
    store(out + at, bits.word[w] < threshold ? Accumulator<T>(0) : load(x + at) * keep);
  }
}

dim3 blocks_of(int64_t count) { return dim3(static_cast<unsigned>(pieces_of(count, kThreads))); }

}  // namespace

void add(Cuda on, const Tensor& a, const Tensor& b, const Tensor& out) {
  visit(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map("add", on, a.size(), Sum{}, out.data<T>(), a.data<T>(), b.data<T>());
  });
}

void accumulate(Cuda on, const Tensor& source, const Tensor& target) {
  SKEIN_CHECK_EQ(source.size(), target.size());
  visit(source, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit(target, [&](auto target_tag) {
      using U = typename decltype(target_tag)::type;
      if constexpr (std::is_same_v<Accumulator<T>, Accumulator<U>>)
        map("accumulate", on, source.size(), Sum{}, target.data<U>(), target.data<U>(), source.data<T>());
      else
        SKEIN_CHECK(false);
    });
  });
}

void scale(Cuda on, const Tensor& x, double factor, const Tensor& out) {
  visit(x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    map("scale", on, x.size(), Scale<A>{static_cast<A>(factor)}, out.data<T>(), x.data<T>());
  });
}

void add_bias(Cuda on, const Tensor& x, const Tensor& bias, const Tensor& out) {
  visit(x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch("add_bias", on, add_bias_rows<T>, blocks_of(x.size()), kThreads, 0, x.size(), bias.size(), x.data<T>(), bias.data<T>(), out.data<T>());
  });
}

void bias_backward(Cuda on, const Tensor& dy, const Tensor& bias_gradient) {
  const int64_t columns = bias_gradient.size(), rows = dy.size() / columns;
  visit(dy, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch("bias_backward", on, sum_rows<T>, dim3(static_cast<unsigned>(pieces_of(columns, kWarp))), kThreads, 0, rows, columns, dy.data<T>(),
           bias_gradient.data<Accumulator<T>>());
  });
}

void activation(Cuda on, Activation kind, const Tensor& x, const Tensor& out) {
  visit(x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map("activation", on, x.size(), Activate<Accumulator<T>>{kind}, out.data<T>(), x.data<T>());
  });
}

void activation_backward(Cuda on, Activation kind, const Tensor& x, const Tensor& dy, const Tensor& dx) {
  visit(x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map("activation_backward", on, x.size(), ActivateBackward<Accumulator<T>>{kind}, dx.data<T>(), x.data<T>(),
        dy.data<T>());
  });
}

void swiglu(Cuda on, const Tensor& gate, const Tensor& up, const Tensor& out) {
  visit(gate, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map("swiglu", on, gate.size(), Swiglu{}, out.data<T>(), gate.data<T>(), up.data<T>());
  });
}

void swiglu_backward(Cuda on, const Tensor& gate, const Tensor& up, const Tensor& dy, const Tensor& dgate, const Tensor& dup) {
  visit(gate, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *g = gate.data<T>(), *u = up.data<T>(), *d = dy.data<T>();
    map("swiglu_backward", on, gate.size(), SwigluUp{}, dup.data<T>(), g, u, d);
    map("swiglu_backward", on, gate.size(), SwigluGate{}, dgate.data<T>(), g, u, d);
  });
}

void dropout(Cuda on, const Tensor& x, const DropoutMask& mask, const Tensor& out) {
  const int64_t batch = x.dim(0), per_sample = x.size() / batch;
  const int64_t first = mask.first_position * (per_sample / x.dim(1));
  visit(x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    dim3 grid = blocks_of(per_sample / 4 + 2);
    grid.y = static_cast<unsigned>(batch);
    launch("dropout", on, drop<T>, grid, kThreads, 0, per_sample, first, mask.key, static_cast<uint32_t>(mask.probability * 4294967296.0),
           Accumulator<T>(1) / Accumulator<T>(1 - mask.probability), mask.sample_ids.data<int64_t>(), x.data<T>(), out.data<T>());
  });
}

}  // namespace skein::kernels
