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

// Where sine and cosine of an angle lie: `pairs` beside each other (Vaswani et al., "Attention is
// all you need", 2017), `halves` in the two halves of a row (tensor2tensor, Marian).
enum class Sinusoid { halves, pairs };

// out [N,C]: sine and cosine of positions [N] i32 times w_i = 10000^(-2i/C), i < C/2. The row of
// position p + k is that of p with each pair turned by k w_i.
void sinusoid(Cpu, const Tensor& positions, Sinusoid layout, Out out);
void sinusoid(Cuda, const Tensor& positions, Sinusoid layout, Out out);

}  // namespace skein::kernels
