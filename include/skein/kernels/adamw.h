// One AdamW update in one pass (Loshchilov, Hutter, "Decoupled weight decay regularization", 2019).
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

struct AdamWArguments {
  double lr = 0;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weight_decay = 0;      // decoupled: master -= lr * weight_decay * master
  double gradient_scale = 1;    // clipping factor, multiplied into each gradient
  int64_t step = 1;             // from 1; for the bias corrections
};

// master, m, v and gradient have one accumulator dtype and size; working (any float dtype, may be undefined)
// receives the rounded new master.
void adamw(Cpu, const AdamWArguments& arguments, const Tensor& gradient, const Tensor& master, const Tensor& m,
           const Tensor& v, const Tensor& working);
void adamw(Cuda, const AdamWArguments& arguments, const Tensor& gradient, const Tensor& master, const Tensor& m,
           const Tensor& v, const Tensor& working);

}  // namespace skein::kernels
