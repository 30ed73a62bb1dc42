// The constants of one AdamW step, the same on every device.
#pragma once

#include <cmath>

#include "skein/kernels/adamw.h"

namespace skein::kernels {

// Beside the norm in the quotient, as everywhere in the field.
constexpr double kClipEpsilon = 1e-6;

template <class A>
struct AdamWFactors {
  explicit AdamWFactors(const AdamWArguments& a)
      : beta1(A(a.beta1)),
        beta2(A(a.beta2)),
        epsilon(A(a.epsilon)),
        scale(A(a.gradient_scale)),
        correction(A(1 / std::sqrt(1 - std::pow(a.beta2, static_cast<double>(a.step))))),
        clip(a.clip) {}
  A beta1, beta2, epsilon, scale, correction;
  double clip;
};

// Those of one slice.
template <class A>
struct SliceFactors {
  SliceFactors() = default;
  SliceFactors(const AdamWArguments& a, const AdamWSlice& slice)
      : step_size(A(slice.lr / (1 - std::pow(a.beta1, static_cast<double>(a.step))))),
        shrink(A(1 - slice.lr * slice.weight_decay)) {}
  A step_size, shrink;
};

}  // namespace skein::kernels
