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
        step_size(A(a.lr / (1 - std::pow(a.beta1, static_cast<double>(a.step))))),
        correction(A(1 / std::sqrt(1 - std::pow(a.beta2, static_cast<double>(a.step))))),
        shrink(A(1 - a.lr * a.weight_decay)),
        clip(a.clip) {}
  A beta1, beta2, epsilon, scale, step_size, correction, shrink;
  double clip;
};

}  // namespace skein::kernels
