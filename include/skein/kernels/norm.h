// Layer and root-mean-square normalisation over the last dim.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// rms_zero_centered: rms with gains of 1 + gain, which begin at 0 (Gemma).
enum class Norm { layer, rms, rms_zero_centered };

// What a stored gain is added to.
constexpr int gain_center(Norm kind) { return kind == Norm::rms_zero_centered ? 1 : 0; }

struct NormArguments {
  Norm kind = Norm::layer;
  Tensor gain;       // [C]
  Tensor bias = {};  // [C]; undefined: none
  double epsilon = 1e-5;
  Tensor branch = {};  // [M,C]: what is added to the residual stream x before; undefined: nothing
};

// layer: out = (x - mean) * rstd * gain + bias; rms: out = x * rstd * gain, rms_zero_centered: out
// = x * rstd * (1 + gain), the sum being made in the accumulator type. x, out [M,C]; mean,
// rstd [M] in the accumulator type are kept for backward (mean is untouched by rms). Where there is
// a branch, sum [M,C] receives x + branch in the same pass, and the norm is of the sum. Ba, Kiros,
// Hinton, "Layer normalization" (2016); Zhang, Sennrich, "Root mean square layer normalization"
// (2019).
void norm(Cpu, const Tensor& x, const NormArguments& arguments, Out out, Out mean, Out rstd,
          Out sum = {});
void norm(Cuda, const Tensor& x, const NormArguments& arguments, Out out, Out mean, Out rstd,
          Out sum = {});

// Rows whose norm is known, for its gradient.
struct NormedRows {
  Norm kind = Norm::layer;
  Tensor x;           // [M,C], what the norm was of
  Tensor gain;        // [C]
  Tensor mean, rstd;  // [M]
};

// dx [M,C] = the gradient, and `more` [M,C], what else flows to x, where it is defined.
// gain_gradient and bias_gradient [C] (accumulator type) receive the rows' contributions in order;
// either may be undefined: it is frozen.
void norm_backward(Cpu, const NormedRows& rows, const Tensor& dy, const Tensor& more, Out dx,
                   Out gain_gradient, Out bias_gradient);
void norm_backward(Cuda, const NormedRows& rows, const Tensor& dy, const Tensor& more, Out dx,
                   Out gain_gradient, Out bias_gradient);

}  // namespace skein::kernels
