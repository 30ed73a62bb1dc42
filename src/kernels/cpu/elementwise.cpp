#include "skein/kernels/elementwise.h"

#include "skein/core/profile.h"

#include "activations.h"
#include "dropout.h"

namespace skein::kernels {
void add(Cpu, const Tensor& a, const Tensor& b, Out out) {
  const Span span("add");
  visit_float(a.dtype(), [&]<class T>(TypeTag<T>) {
    const T *x = a.data<T>(), *y = b.data<T>();
    T* z = out->data<T>();
    for_elements<T>(a.size(), [=](auto at) { at.store(z, at.load(x) + at.load(y)); });
  });
}

void accumulate(Cpu, const Tensor& source, Out target) {
  const Span span("accumulate");
  SKEIN_CHECK_EQ(source.size(), target->size());
  visit_float(source.dtype(), [&]<class T>(TypeTag<T>) {
    visit_float(target->dtype(), [&]<class U>(TypeTag<U>) {
      const T* x = source.data<T>();
      U* y = target->data<U>();
      if constexpr (std::is_same_v<Accumulator<T>, Accumulator<U>>)
        for_elements<T>(source.size(), [=](auto at) { at.store(y, at.load(y) + at.load(x)); });
      else
        for (int64_t i = 0; i < source.size(); ++i)
          store(y + i, load(y + i) + static_cast<Accumulator<U>>(load(x + i)));
    });
  });
}

void scale(Cpu, const Tensor& x, double factor, Out out) {
  const Span span("scale");
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    const T* in = x.data<T>();
    T* to = out->data<T>();
    const auto by = static_cast<Accumulator<T>>(factor);
    for_elements<T>(x.size(), [=](auto at) { at.store(to, at.load(in) * by); });
  });
}

void add_bias(Cpu, const Tensor& x, const Tensor& bias, Out out) {
  const Span span("bias");
  const int64_t columns = bias.size(), rows = x.size() / columns;
  const auto run = [&]<class T, class B>(TypeTag<T>, TypeTag<B>) {
    const T* in = x.data<T>();
    const B* b = bias.data<B>();
    T* to = out->data<T>();
    parallel_ranges(rows, row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        for (int64_t c = 0; c < columns; ++c)
          store(to + r * columns + c, load(in + r * columns + c) + load(b + c));
    });
  };
  visit_float(bias.dtype(), [&]<class B>(TypeTag<B> tag) {
    if (x.dtype() == bias.dtype())
      run(tag, tag);
    else
      run(TypeTag<Accumulator<B>>{}, tag);
  });
}

void bias_backward(Cpu, const Tensor& dy, Out bias_gradient) {
  const Span span("bias backward");
  const int64_t columns = bias_gradient->size(), rows = dy.size() / columns;
  visit_float(dy.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const T* in = dy.data<T>();
    A* sum = bias_gradient->data<A>();
    parallel_ranges(columns, column_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = begin; c < end; ++c) sum[c] += load(in + r * columns + c);
    });
  });
}

void activation(Cpu, Activation kind, const Tensor& x, Out out) {
  const Span span("activation");
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    const T* in = x.data<T>();
    T* to = out->data<T>();
    with_activation<Elements<T>>(kind, [&](auto f) {
      for_elements<T>(x.size(), [=](auto at) { at.store(to, f(at.load(in))); });
    });
  });
}

void activation_backward(Cpu on, Activation kind, const Tensor& x, const Tensor& dy, Out dx,
                         Out bias_gradient) {
  const Span span("activation backward");
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    const T *in = x.data<T>(), *slope = dy.data<T>();
    T* to = dx->data<T>();
    with_slope<Elements<T>>(kind, [&](auto f) {
      for_elements<T>(x.size(), [=](auto at) { at.store(to, at.load(slope) * f(at.load(in))); });
    });
  });
  if (bias_gradient->defined()) bias_backward(on, *dx, bias_gradient);
}

void gated(Cpu, Activation kind, const Tensor& gate, const Tensor& up, Out out) {
  const Span span("gate");
  visit_float(gate.dtype(), [&]<class T>(TypeTag<T>) {
    const T *g = gate.data<T>(), *u = up.data<T>();
    T* to = out->data<T>();
    with_activation<Elements<T>>(kind, [&](auto f) {
      for_elements<T>(gate.size(), [=](auto at) { at.store(to, f(at.load(g)) * at.load(u)); });
    });
  });
}

void gated_backward(Cpu, Activation kind, const Tensor& gate, const Tensor& up, const Tensor& dy,
                    Out dgate, Out dup) {
  const Span span("gate backward");
  visit_float(gate.dtype(), [&]<class T>(TypeTag<T>) {
    const T *g = gate.data<T>(), *u = up.data<T>(), *d = dy.data<T>();
    T *to_gate = dgate->data<T>(), *to_up = dup->data<T>();
    with_kind<Elements<T>>(kind, [&](auto of) {
      for_elements<T>(gate.size(), [=](auto at) {
        const auto slopes = gate_slopes(of, at.load(g), at.load(u), at.load(d));
        at.store(to_up, slopes.up);
        at.store(to_gate, slopes.gate);
      });
    });
  });
}

namespace {

// x and out hold `count` numbers of the stream from number `first` on.
template <class T>
void drop(const DropoutStream& stream, int64_t first, int64_t count, Accumulator<T> keep,
          const T* x, T* out) {
  using A = Accumulator<T>;
  for_dropout_factors<A>(stream, static_cast<uint64_t>(first), count, keep,
                         [=](int64_t from, int64_t until, const A* factors) {
                           for_lanes<T>(from, until, [=](auto at) {
                             at.store(out, at.load(x) * at.load(factors - from));
                           });
                         });
}

template <class T>
void drop_samples(const Tensor& x, const DropoutMask& mask, uint32_t threshold, Out out) {
  using A = Accumulator<T>;
  const int64_t size = x.size() / x.dim(0);
  const int64_t* ids = mask.sample_ids.data<int64_t>();
  const A keep = A(1) / A(1 - mask.probability);
  for (int64_t sample = 0; sample < x.dim(0); ++sample) {
    const T* in = x.data<T>() + sample * size;
    T* to = out->data<T>() + sample * size;
    if (philox(mask.key, static_cast<uint64_t>(ids[sample]), 0)[0] < threshold)
      std::fill_n(to, size, T{});
    else
      for_elements<T>(size, [=](auto at) { at.store(to, at.load(in) * keep); });
  }
}

}  // namespace

void dropout(Cpu, const Tensor& x, const DropoutMask& mask, Out out) {
  const Span span("dropout");
  if (x.size() == 0) return;
  const int64_t rows = x.dim(1), width = x.size() / (x.dim(0) * rows),
                whole = mask.columns > 0 ? mask.columns : width;
  const int64_t first = mask.first_position * whole + mask.first_column;
  const int64_t* ids = mask.sample_ids.data<int64_t>();
  const auto threshold = static_cast<uint32_t>(mask.probability * 4294967296.0);
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    if (mask.whole_samples) return drop_samples<T>(x, mask, threshold, out);
    const T* in = x.data<T>();
    T* to = out->data<T>();
    const A keep = A(1) / A(1 - mask.probability);
    parallel_ranges(x.dim(0) * rows, row_grain(width), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin, stop; row < end; row = stop) {
        const int64_t sample = row / rows, t = row % rows;
        // Whole rows follow each other in the stream of their sample.
        stop = whole == width ? std::min(end, (sample + 1) * rows) : row + 1;
        const DropoutStream stream{mask.key, static_cast<uint64_t>(ids[sample]), threshold};
        drop(stream, first + t * whole, (stop - row) * width, keep, in + row * width,
             to + row * width);
      }
    });
  });
}

}  // namespace skein::kernels
