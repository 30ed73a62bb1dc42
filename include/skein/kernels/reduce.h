// Sums in a fixed order, and moves of blocks.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// sums [ceil(n/chunk)] f64: the squares of each chunk of x (f32 or f64), added in a fixed order.
void chunk_square_sums(Cpu, const Tensor& x, int64_t chunk, const Tensor& sums);
void chunk_square_sums(Cuda, const Tensor& x, int64_t chunk, const Tensor& sums);

// out [B,A,...] from x [A,B,...]: swaps the two leading dims.
void swap_leading(Cpu, const Tensor& x, const Tensor& out);
void swap_leading(Cuda, const Tensor& x, const Tensor& out);

}  // namespace skein::kernels
