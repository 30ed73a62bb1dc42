// The likeliest ids of rows, and how likely they are, where the logits are. The vocabulary may be
// split over ranks: each works on the columns held here.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// Whole numbers as which exponentials of up to 1 are summed; sums over `ids` of them fit into 62
// bits.
double exponential_units(int64_t ids);

// weights [M] i64: for each row of logits [M,V] f32 the sum over its first `valid` columns of
// exp(logit - maximum [M] f32) * units, each rounded to a whole number. So the sum does not depend
// on an order: shards add theirs. -1 - i where logit i is the first NaN; else 0 where the maximum
// is not finite. units: of exponential_units().
void row_weights(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum, double units,
                 Out weights);
void row_weights(Cuda, const Tensor& logits, int64_t valid, const Tensor& maximum, double units,
                 Out weights);

// logits [M,V] f32 at `places` [N] i64, row * V + column each, become -inf.
void forbid(Cpu, const Tensor& places, Out logits);
void forbid(Cuda, const Tensor& places, Out logits);

// columns [M,K] i32, found [M,K] f32: of the first `valid` columns of each row of logits [M,V] f32
// the K with the largest logits and these, from likely to unlikely, equal logits by the lower
// column, and -0 equals 0. -1 and -inf stand where there are fewer that are above -inf. NaN: any.
void likeliest(Cpu, const Tensor& logits, int64_t valid, Out columns, Out found);
void likeliest(Cuda, const Tensor& logits, int64_t valid, Out columns, Out found);

}  // namespace skein::kernels
