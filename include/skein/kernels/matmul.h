// Matrix products. Every element of the result is one chain of fused multiply-adds over the inner
// dimension in rising order (bf16: of products of depth_granule neighbours at a time, as the CPU's unit adds them), started from
// zero or from the element it is added to. The bits of a row
// therefore do not depend on how many rows the call has, on tiles or on threads, and adding two halves of
// the inner dimension in two calls gives the bits of one call, where they are cut at a multiple of depth_granule.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// Steps of the inner dimension that this machine's units take at once for dtype: a chain cut at a multiple of it goes on with the
// same bits in another call. 1 for f32 and f64.
int64_t depth_granule(Cpu, DType dtype);

enum class Transpose { no, yes };
enum class Write { overwrite, accumulate };

// c [M,N] = op(a) [M,K] · op(b) [K,N], or c += with Write::accumulate. a and b have one dtype; c has it too, or
// their accumulator type (f32 for bf16). Accumulating needs the accumulator type.
void matmul(Cpu, const Tensor& a, Transpose transpose_a, const Tensor& b, Transpose transpose_b, const Tensor& c,
            Write write = Write::overwrite);

}  // namespace skein::kernels
