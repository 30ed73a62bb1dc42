#include "skein/kernels/elementwise.h"

#include "columns.cuh"
#include "math.cuh"
#include "philox.cuh"

namespace skein::kernels {
namespace {

struct Sum {
  template <class A>
  __device__ A operator()(A x, A y) const {
    return x + y;
  }
};

template <class A>
struct Scale {
  A by;
  __device__ A operator()(A x) const { return x * by; }
};

template <class A>
struct Gate {
  Activate<A> f;
  __device__ A operator()(A gate, A up) const { return f(gate) * up; }
};

constexpr int kThreads = 256;

template <class T, class B>
__global__ void add_bias_rows(int64_t count, int64_t columns, const T* x, const B* bias, T* out) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) store(out + i, load(x + i) + load(bias + i % columns));
}

template <class T, int kWidth>
struct ActivationRow {
  ActivateBackward<Accumulator<T>> slope;
  const T *x, *dy;
  T* dx;
  int64_t columns;
  __device__ void operator()(int64_t row, int64_t column, Accumulator<T> (&sums)[1][kWidth]) const {
    const int64_t at = row * columns + column;
    const auto values = load_some<kWidth>(x + at), given = load_some<kWidth>(dy + at);
    Some<T, kWidth> made;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      store(&made.at[k], slope(load(&values.at[k]), load(&given.at[k])));
      sums[0][k] += load(&made.at[k]);
    }
    *reinterpret_cast<Some<T, kWidth>*>(dx + at) = made;
  }
};

template <class T, int kWidth>
struct RowSum {
  const T* x;
  int64_t columns;
  __device__ void operator()(int64_t row, int64_t column, Accumulator<T> (&sums)[1][kWidth]) const {
    const auto values = load_some<kWidth>(x + row * columns + column);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) sums[0][k] += load(&values.at[k]);
  }
};

// What is read of a gate in backward, and what it makes.
template <class T>
struct GateMemory {
  const T *gate, *up, *dy;
  T *dgate, *dup;
};

template <class T>
__global__ void gate_slopes(int64_t count, bool wide, Activation kind, GateMemory<T> at) {
  using A = Accumulator<T>;
  constexpr int kPack = Pack<T>::kSize;
  const int64_t begin = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kPack;
  const auto one = [kind](A g, A u, A d, T* to_gate, T* to_up) {
    if (kind == Activation::silu) {
      const A s = logistic(g);
      store(to_gate, d * u * s * (A(1) + g * (A(1) - s)));
      store(to_up, d * g * s);
    } else {
      store(to_gate, ActivateBackward<A>{kind}(g, d * u));
      store(to_up, d * Activate<A>{kind}(g));
    }
  };
  if (wide && begin + kPack <= count) {
    const auto g = load_some<kPack>(at.gate + begin), u = load_some<kPack>(at.up + begin),
               d = load_some<kPack>(at.dy + begin);
    Some<T, kPack> to_gate, to_up;
#pragma unroll
    for (int k = 0; k < kPack; ++k)
      one(load(&g.at[k]), load(&u.at[k]), load(&d.at[k]), &to_gate.at[k], &to_up.at[k]);
    *reinterpret_cast<Some<T, kPack>*>(at.dgate + begin) = to_gate;
    *reinterpret_cast<Some<T, kPack>*>(at.dup + begin) = to_up;
    return;
  }
  for (int64_t i = begin; i < begin + kPack && i < count; ++i)
    one(load(at.gate + i), load(at.up + i), load(at.dy + i), at.dgate + i, at.dup + i);
}

// The streams that drop elements with probability threshold / 2^32, and what the others are
// multiplied by.
template <class A>
struct DropoutStreams {
  uint64_t key;
  const int64_t* sample_ids;
  uint32_t threshold;
  A keep;
};

// The `count` rows of `width` numbers of a sample; each begins `apart` numbers of the stream behind
// the one before it. blocks: of the grid, for a row.
struct DroppedRows {
  int64_t width, first, apart;
  unsigned count, blocks;
};

template <class T>
__global__ void drop(int64_t per_sample, DroppedRows rows, DropoutStreams<Accumulator<T>> dropping,
                     const T* x, T* out) {
  const unsigned line = blockIdx.x / rows.blocks;
  const int64_t sample = line / rows.count, row = line % rows.count,
                first = rows.first + row * rows.apart,
                block = first / 4 + static_cast<int64_t>(blockIdx.x % rows.blocks) * blockDim.x +
                        threadIdx.x;
  if (block * 4 >= first + rows.width) return;
  const DeviceBlock bits =
      philox_on_device(dropping.key, static_cast<uint64_t>(dropping.sample_ids[sample]),
                       static_cast<uint64_t>(block));
  for (int w = 0; w < 4; ++w) {
    const int64_t i = block * 4 + w - first;
    if (i < 0 || i >= rows.width) continue;
    const int64_t at = sample * per_sample + row * rows.width + i;
    store(out + at,
          bits.word[w] < dropping.threshold ? Accumulator<T>(0) : load(x + at) * dropping.keep);
  }
}

// A block a piece of a sample.
template <class T>
__global__ void drop_samples(int64_t size, DropoutStreams<Accumulator<T>> dropping, const T* x,
                             T* out) {
  const int64_t pieces = pieces_of(size, blockDim.x), sample = blockIdx.x / pieces,
                i = blockIdx.x % pieces * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const DeviceBlock bits = philox_on_device(
      dropping.key, static_cast<uint64_t>(dropping.sample_ids[sample]), uint64_t{0});
  const int64_t at = sample * size + i;
  store(out + at,
        bits.word[0] < dropping.threshold ? Accumulator<T>(0) : load(x + at) * dropping.keep);
}

dim3 blocks_of(int64_t count) { return grid_of(pieces_of(count, kThreads)); }

}  // namespace

void add(Cuda on, const Tensor& a, const Tensor& b, Out out) {
  visit_float(a.dtype(), [&]<class T>(TypeTag<T>) {
    map("add", on, a.size(), Sum{}, out->data<T>(), a.data<T>(), b.data<T>());
  });
}

void accumulate(Cuda on, const Tensor& source, Out target) {
  SKEIN_CHECK_EQ(source.size(), target->size());
  visit_float(source.dtype(), [&]<class T>(TypeTag<T>) {
    visit_float(target->dtype(), [&]<class U>(TypeTag<U>) {
      if constexpr (std::is_same_v<Accumulator<T>, Accumulator<U>>)
        map("accumulate", on, source.size(), Sum{}, target->data<U>(), target->data<U>(),
            source.data<T>());
      else
        SKEIN_CHECK(false);
    });
  });
}

void scale(Cuda on, const Tensor& x, double factor, Out out) {
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    map("scale", on, x.size(), Scale<A>{static_cast<A>(factor)}, out->data<T>(), x.data<T>());
  });
}

void add_bias(Cuda on, const Tensor& x, const Tensor& bias, Out out) {
  const auto run = [&]<class T, class B>(TypeTag<T>, TypeTag<B>) {
    launch("add_bias", on, add_bias_rows<T, B>, blocks_of(x.size()), kThreads, 0, x.size(),
           bias.size(), x.data<T>(), bias.data<B>(), out->data<T>());
  };
  visit_float(bias.dtype(), [&]<class B>(TypeTag<B> tag) {
    if (x.dtype() == bias.dtype())
      run(tag, tag);
    else
      run(TypeTag<Accumulator<B>>{}, tag);
  });
}

void bias_backward(Cuda on, const Tensor& dy, Out bias_gradient) {
  const int64_t columns = bias_gradient->size(), rows = dy.size() / columns;
  visit_float(dy.dtype(), [&]<class T>(TypeTag<T>) {
    by_width<T>(aligned(dy.bytes_data()) && columns * static_cast<int64_t>(sizeof(T)) % 16 == 0,
                [&](auto width) {
                  column_sums<1, width>("bias_backward", on, dy.device(), rows, columns,
                                        RowSum<T, width>{dy.data<T>(), columns},
                                        {bias_gradient->data<Accumulator<T>>()});
                });
  });
}

void activation(Cuda on, Activation kind, const Tensor& x, Out out) {
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    map("activation", on, x.size(), Activate<Accumulator<T>>{kind}, out->data<T>(), x.data<T>());
  });
}

void activation_backward(Cuda on, Activation kind, const Tensor& x, const Tensor& dy, Out dx,
                         Out bias_gradient) {
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    if (!bias_gradient->defined())
      return map("activation_backward", on, x.size(), ActivateBackward<A>{kind}, dx->data<T>(),
                 x.data<T>(), dy.data<T>());
    const int64_t columns = bias_gradient->size(), rows = x.size() / columns;
    by_width<T>(wide_rows(x) && wide_rows(dy) && wide_rows(*dx), [&](auto width) {
      const ActivationRow<T, width> f{{kind}, x.data<T>(), dy.data<T>(), dx->data<T>(), columns};
      column_sums<1, width>("activation_backward", on, x.device(), rows, columns, f,
                            {bias_gradient->data<A>()});
    });
  });
}

void gated(Cuda on, Activation kind, const Tensor& gate, const Tensor& up, Out out) {
  visit_float(gate.dtype(), [&]<class T>(TypeTag<T>) {
    map("gated", on, gate.size(), Gate<Accumulator<T>>{{kind}}, out->data<T>(), gate.data<T>(),
        up.data<T>());
  });
}

void gated_backward(Cuda on, Activation kind, const Tensor& gate, const Tensor& up,
                    const Tensor& dy, Out dgate, Out dup) {
  visit_float(gate.dtype(), [&]<class T>(TypeTag<T>) {
    const bool wide = aligned(gate.bytes_data()) && aligned(up.bytes_data()) &&
                      aligned(dy.bytes_data()) && aligned(dgate->bytes_data()) &&
                      aligned(dup->bytes_data());
    launch("gated_backward", on, gate_slopes<T>, blocks_of(pieces_of(gate.size(), Pack<T>::kSize)),
           kThreads, 0, gate.size(), wide, kind,
           GateMemory<T>{gate.data<T>(), up.data<T>(), dy.data<T>(), dgate->data<T>(),
                         dup->data<T>()});
  });
}

void dropout(Cuda on, const Tensor& x, const DropoutMask& mask, Out out) {
  if (x.size() == 0) return;
  const int64_t batch = x.dim(0), per_sample = x.size() / batch, width = per_sample / x.dim(1),
                whole = mask.columns > 0 ? mask.columns : width;
  // A sample whose rows follow one another in the stream is one row.
  const int64_t run = whole == width ? per_sample : width;
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const int64_t of_row = pieces_of(run / 4 + 2, kThreads);
    const DroppedRows rows{run, mask.first_position * whole + mask.first_column, whole,
                           static_cast<unsigned>(per_sample / run), static_cast<unsigned>(of_row)};
    const DropoutStreams<A> dropping{mask.key, mask.sample_ids.data<int64_t>(),
                                     static_cast<uint32_t>(mask.probability * 4294967296.0),
                                     A(1) / A(1 - mask.probability)};
    if (mask.whole_samples) {
      launch("dropout", on, drop_samples<T>, grid_of(pieces_of(per_sample, kThreads) * batch),
             kThreads, 0, per_sample, dropping, x.data<T>(), out->data<T>());
      return;
    }
    launch("dropout", on, drop<T>, grid_of(of_row * rows.count * batch), kThreads, 0, per_sample,
           rows, dropping, x.data<T>(), out->data<T>());
  });
}

}  // namespace skein::kernels
