// The affine map, and moves of data between tensor-parallel ranks around it.
#pragma once

#include "skein/comm/group.h"
#include "skein/ops/var.h"

namespace skein::ops {

// y [...,N] = x [...,K] weight[N,K]ᵀ + bias [N]; bias may be undefined. Backward: input gradient first, then
// the weight gradient added row by row into the accumulator.
Var linear(const Var& x, const Weight& weight, const Weight& bias);
// x + bias alone: for row-split products, whose bias is added once, after the sum over ranks.
Var add_bias(const Var& x, const Weight& bias);

}  // namespace skein::ops
