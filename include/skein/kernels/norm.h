// Layer and root-mean-square normalisation over the last dim.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

enum class Norm { layer, rms };

// What a branch gives to the residual stream, in the same pass as the norm behind it.
struct Residual {
  Tensor branch = {};  // [M,C]; undefined: none
  Tensor sum = {};     // [M,C], receives x + branch
};

// layer: out = (x - mean) * rstd * gain + bias; rms: out = x * rstd * gain. bias may be undefined.
// x, out [M,C]; gain, bias [C]; mean, rstd [M] in the accumulator type are kept for backward (mean
// is untouched by rms). With a residual, x is what is added to, and the norm is of the sum. Ba,
// Kiros, Hinton, "Layer normalization" (2016); Zhang, Sennrich, "Root mean square layer
// normalization" (2019).
void norm(Cpu, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& bias, double epsilon,
          const Tensor& out, const Tensor& mean, const Tensor& rstd, const Residual& residual = {});
void norm(Cuda, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& bias, double epsilon,
          const Tensor& out, const Tensor& mean, const Tensor& rstd, const Residual& residual = {});

// dx [M,C] = the gradient, and `more` [M,C], what else flows to x, where it is defined.
// gain_gradient and bias_gradient [C] (accumulator type) receive the rows' contributions in order.
void norm_backward(Cpu, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& mean,
                   const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                   const Tensor& gain_gradient, const Tensor& bias_gradient,
                   const Tensor& more = {});
void norm_backward(Cuda, Norm kind, const Tensor& x, const Tensor& gain, const Tensor& mean,
                   const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                   const Tensor& gain_gradient, const Tensor& bias_gradient,
                   const Tensor& more = {});

}  // namespace skein::kernels
