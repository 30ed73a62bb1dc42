// Elementwise arithmetic on tensors of equal size, in the accumulator type, rounded once on store.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// gelu_tanh and gelu_erf: Hendrycks and Gimpel, "Gaussian error linear units" (2016), both forms.
// silu, which others call swish: x / (1 + exp(-x)). elu: exp(x) - 1 below 0, and x above.
enum class Activation { gelu_tanh, gelu_erf, relu, tanh, silu, elu };

// out = a + b
void add(Cpu, const Tensor& a, const Tensor& b, Out out);
void add(Cuda, const Tensor& a, const Tensor& b, Out out);
// target += source; target may be the accumulator type of source's.
void accumulate(Cpu, const Tensor& source, Out target);
void accumulate(Cuda, const Tensor& source, Out target);
// out = x * factor
void scale(Cpu, const Tensor& x, double factor, Out out);
void scale(Cuda, const Tensor& x, double factor, Out out);
// out [M,N] = x [M,N] + bias [N]; x and out of the bias' dtype or of its accumulator type
void add_bias(Cpu, const Tensor& x, const Tensor& bias, Out out);
void add_bias(Cuda, const Tensor& x, const Tensor& bias, Out out);
// bias_gradient [N] (accumulator type) += the rows of dy [M,N], in order
void bias_backward(Cpu, const Tensor& dy, Out bias_gradient);
void bias_backward(Cuda, const Tensor& dy, Out bias_gradient);

void activation(Cpu, Activation kind, const Tensor& x, Out out);
void activation(Cuda, Activation kind, const Tensor& x, Out out);
// Where bias_gradient [N] (accumulator type) is defined, the rows of dx [M,N] are added to it on
// the way.
void activation_backward(Cpu, Activation kind, const Tensor& x, const Tensor& dy, Out dx,
                         Out bias_gradient = {});
void activation_backward(Cuda, Activation kind, const Tensor& x, const Tensor& dy, Out dx,
                         Out bias_gradient = {});

// out = activation(gate) * up: Shazeer, "GLU variants improve transformer" (2020). SwiGLU is that
// of silu, GEGLU of gelu, ReGLU of relu.
void gated(Cpu, Activation kind, const Tensor& gate, const Tensor& up, Out out);
void gated(Cuda, Activation kind, const Tensor& gate, const Tensor& up, Out out);
void gated_backward(Cpu, Activation kind, const Tensor& gate, const Tensor& up, const Tensor& dy,
                    Out dgate, Out dup);
void gated_backward(Cuda, Activation kind, const Tensor& gate, const Tensor& up, const Tensor& dy,
                    Out dgate, Out dup);

// Which elements of a sample a tensor holds, and the random stream that masks them.
struct DropoutMask {
  double probability = 0;      // of an element to be dropped
  uint64_t key = 0;            // of seed, step and site
  Tensor sample_ids;           // [B] i64
  int64_t first_position = 0;  // of the tensor's rows in the whole sequence
  int64_t first_column = 0;    // of its columns in rows of `columns`
  int64_t columns = 0;         // 0: as many as the tensor has
  bool whole_samples = false;  // number 0 of a sample's stream decides about all of its elements
};
// x, out [B,T,C]: element (t, c) of sample s is dropped where philox(key, s, (first_position + t) *
// columns + first_column + c) says so, else divided by 1 - probability. Its own gradient: apply it
// to dy.
void dropout(Cpu, const Tensor& x, const DropoutMask& mask, Out out);
void dropout(Cuda, const Tensor& x, const DropoutMask& mask, Out out);

}  // namespace skein::kernels
