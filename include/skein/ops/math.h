// Elementwise operations, normalisation, dropout.
#pragma once

#include "skein/kernels/elementwise.h"
#include "skein/kernels/norm.h"
#include "skein/ops/var.h"

namespace skein::ops {

using kernels::Activation;
using kernels::DropoutMask;
using kernels::Norm;

// x in another type, made where x is; x itself where it has that type.
Tensor converted(const Tensor& x, DType dtype);
Var add(const Var& a, const Var& b);
// x * factor; x itself where that is 1.
Var scale(const Var& x, double factor);
Var activation(const Var& x, Activation kind);
// activation(gate) * up
Var gated(const Var& gate, const Var& up, Activation kind);
// x [B,T,C]; x itself when the mask's probability is 0.
Var dropout(const Var& x, const DropoutMask& mask);
// x [...,C]; gain, bias [C]; bias may be undefined.
Var norm(const Var& x, Norm kind, const Weight& gain, const Weight& bias, double epsilon);

struct SumAndNorm {
  Var sum, normed;
};
// sum = x + branch and its norm, in one pass.
SumAndNorm add_norm(const Var& x, const Var& branch, Norm kind, const Weight& gain,
                    const Weight& bias, double epsilon);

}  // namespace skein::ops
