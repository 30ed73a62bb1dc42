// What the machine can do at most: the yardsticks of `skein bench`.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// FLOP/s of multiply-adds on registers alone, on all threads of the caller; takes about 20 ms. f32,
// f64 or bf16.
double register_peak(Cpu, DType dtype);

// One pass at memory speed each; tensors of equal size, f32.
// The sum of all of x.
double stream_read(Cpu, const Tensor& x);
void stream_copy(Cpu, const Tensor& from, Out to);
// AdamW's pattern of access, four reads and three writes: each of a, b and c grows by `with`.
void stream_update(Cpu, const Tensor& with, Out a, Out b, Out c);

}  // namespace skein::kernels
