// Functions of one element. Internal to the CUDA kernels.
#pragma once

#include "skein/kernels/elementwise.h"

#include "common.cuh"

namespace skein::kernels {

template <class A>
__device__ A logistic(A x) {
  return A(1) / (A(1) + exp(-x));
}

// (1 + tanh(u)) / 2 is the logistic function of 2 u, here with u = sqrt(2/pi) (x + 0.044715 x^3).
template <class A>
__device__ A gelu_tanh_gate(A x) {
  return logistic(x * (A(2 * 0.7978845608028654) + A(2 * 0.7978845608028654 * 0.044715) * x * x));
}

template <class A>
__device__ A gelu_tanh_slope(A x) {
  const A gate = gelu_tanh_gate(x);
  return gate + x * gate * (A(1) - gate) *
                    (A(2 * 0.7978845608028654) + A(6 * 0.7978845608028654 * 0.044715) * x * x);
}

template <class A>
__device__ A normal_cdf(A x) {
  return A(0.5) * (A(1) + erf(x * A(0.7071067811865476)));
}

template <class A>
struct Activate {
  Activation kind;
  __device__ A operator()(A x) const {
    switch (kind) {
      case Activation::gelu_tanh: return x * gelu_tanh_gate(x);
      case Activation::gelu_erf: return x * normal_cdf(x);
      case Activation::relu: return x <= A(0) ? A(0) : x;
      case Activation::tanh: return tanh(x);
      case Activation::silu: return x * logistic(x);
      case Activation::elu: return x > A(0) ? x : expm1(x);
    }
    return A(0);
  }
};

template <class A>
struct ActivateBackward {
  Activation kind;
  __device__ A operator()(A x, A dy) const {
    switch (kind) {
      case Activation::gelu_tanh: return dy * gelu_tanh_slope(x);
      case Activation::gelu_erf:
        return dy * (normal_cdf(x) + x * A(0.3989422804014327) * exp(A(-0.5) * x * x));
      case Activation::relu: return x > A(0) ? dy : A(0);
      case Activation::tanh: return dy * (A(1) - tanh(x) * tanh(x));
      case Activation::silu: {
        const A s = logistic(x);
        return dy * s * (A(1) + x * (A(1) - s));
      }
      case Activation::elu: return x > A(0) ? dy : dy * exp(x);
    }
    return A(0);
  }
};

}  // namespace skein::kernels
