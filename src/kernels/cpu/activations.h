// Activations and their slopes on vectors V of sums. Internal to the CPU kernels.
#pragma once

#include "skein/kernels/elementwise.h"

#include "elements.h"

namespace skein::kernels {

template <class V>
V logistic(V x) {
  return 1 / (1 + exponential(-x));
}

// (1 + tanh(u)) / 2 is the logistic function of 2 u, here with u = sqrt(2/pi) (x + 0.044715 x^3).
template <class V>
V gelu_tanh_gate(V x) {
  using A = Lane<V>;
  constexpr A kLinear = A(2 * 0.7978845608028654), kCubic = A(2 * 0.7978845608028654 * 0.044715);
  return logistic<V>(x * fused(x * x, all<V>(kCubic), all<V>(kLinear)));
}

template <class V>
V gelu_tanh_slope(V x) {
  using A = Lane<V>;
  constexpr A kLinear = A(2 * 0.7978845608028654), kCubic = A(6 * 0.7978845608028654 * 0.044715);
  const V gate = gelu_tanh_gate(x);
  return fused(x * gate * (1 - gate), fused(x * x, all<V>(kCubic), all<V>(kLinear)), gate);
}

// Small results are of the series, since a difference of numbers near 1 keeps few of their digits.
template <class V>
V hyperbolic_tangent(V x) {
  using A = Lane<V>;
  constexpr A kSmall = sizeof(A) == 8 ? A(4e-4) : A(0.0625);
  const V square = x * x;
  constexpr A kSeries[] = {A(1), A(-1.0 / 3), A(2.0 / 15), A(-17.0 / 315), A(62.0 / 2835)};
  return square < kSmall ? x * polynomial(square, kSeries) : 2 * logistic<V>(2 * x) - 1;
}

template <class V>
V normal_cdf(V x) {
  return Lane<V>(0.5) * (1 + error_function<V>(x * Lane<V>(0.7071067811865476)));
}

template <class V>
V gelu_erf_slope(V x) {
  return normal_cdf(x) + x * Lane<V>(0.3989422804014327) * exponential(Lane<V>(-0.5) * x * x);
}

// Each kind: its function and its slope.
template <class V>
struct GeluTanh {
  static V value(V x) { return x * gelu_tanh_gate(x); }
  static V slope(V x) { return gelu_tanh_slope(x); }
};
template <class V>
struct GeluErf {
  static V value(V x) { return x * normal_cdf(x); }
  static V slope(V x) { return gelu_erf_slope(x); }
};
template <class V>
struct Relu {
  static V value(V x) { return x <= 0 ? V{} : x; }
  static V slope(V x) { return x > 0 ? V{} + 1 : V{}; }
};
template <class V>
struct Tanh {
  static V value(V x) { return hyperbolic_tangent(x); }
  static V slope(V x) { return 1 - hyperbolic_tangent(x) * hyperbolic_tangent(x); }
};
template <class V>
struct Silu {
  static V value(V x) { return x * logistic(x); }
  static V slope(V x) {
    const V s = logistic(x);
    return s * (1 + x * (1 - s));
  }
};

// exp(x) - 1 as 2 t / (1 - t) with t = tanh(x / 2), which keeps the digits of small numbers.
template <class V>
struct Elu {
  static V value(V x) {
    const V t = hyperbolic_tangent(x * Lane<V>(0.5));
    return x > 0 ? x : 2 * t / (1 - t);
  }
  static V slope(V x) { return x > 0 ? V{} + 1 : exponential(x); }
};

// Calls f with the struct of a kind on vectors.
template <class V, class F>
void with_kind(Activation kind, const F& f) {
  switch (kind) {
    case Activation::gelu_tanh: return f(GeluTanh<V>{});
    case Activation::gelu_erf: return f(GeluErf<V>{});
    case Activation::relu: return f(Relu<V>{});
    case Activation::tanh: return f(Tanh<V>{});
    case Activation::silu: return f(Silu<V>{});
    case Activation::elu: return f(Elu<V>{});
  }
}

// Calls f with the function of a kind, or with its slope.
template <class V, class F>
void with_activation(Activation kind, const F& f) {
  with_kind<V>(kind, [&](auto of) { f([of](V x) { return of.value(x); }); });
}
template <class V, class F>
void with_slope(Activation kind, const F& f) {
  with_kind<V>(kind, [&](auto of) { f([of](V x) { return of.slope(x); }); });
}

// What a gate's two factors get of dy. SwiGLU's share their exponential.
template <class V>
struct GateSlopes {
  V gate, up;
};
template <class V, class Kind>
GateSlopes<V> gate_slopes(Kind of, V gate, V up, V dy) {
  if constexpr (std::is_same_v<Kind, Silu<V>>) {
    const V s = logistic(gate);
    return {dy * up * s * (1 + gate * (1 - s)), dy * gate * s};
  } else {
    return {dy * up * of.slope(gate), dy * of.value(gate)};
  }
}

}  // namespace skein::kernels
