// Rows of a table by id.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// out [N,C] = table[ids - first_id]; rows whose id is not in [first_id, first_id + rows of table)
// become zero.
void embedding(Cpu, const Tensor& table, const Tensor& ids, int64_t first_id, Out out);
void embedding(Cuda, const Tensor& table, const Tensor& ids, int64_t first_id, Out out);
// table_gradient (accumulator type) receives the rows of dy [N,C] in order. CUDA adds up to 64 rows
// of an id so; its later ones it sums by 64 and adds the sums in order.
void embedding_backward(Cpu, const Tensor& dy, const Tensor& ids, int64_t first_id,
                        Out table_gradient);
void embedding_backward(Cuda, const Tensor& dy, const Tensor& ids, int64_t first_id,
                        Out table_gradient);

// out [N,C]: sine and cosine of positions [N] i32 at geometrically spaced wavelengths, sines in the
// first half (Vaswani et al., "Attention is all you need", 2017, with halves instead of alternating
// dims).
void sinusoid(Cpu, const Tensor& positions, Out out);
void sinusoid(Cuda, const Tensor& positions, Out out);

}  // namespace skein::kernels
