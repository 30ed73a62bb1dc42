// The affine map.
#pragma once

#include <optional>

#include "skein/ops/math.h"

namespace skein::ops {

// y [...,N] = f(x [...,K] weight[N,K]ᵀ + bias [N]) in one pass; bias may be undefined, and f
// absent. Backward: input gradient first, then the weight gradient added row by row into the
// accumulator.
Var linear(const Var& x, const Weight& weight, const Weight& bias,
           std::optional<Activation> f = {});
// x weightᵀ + bias in the accumulator type, not recorded: logits to choose tokens by. bias may be
// undefined.
Tensor linear_sums(const Tensor& x, const Weight& weight, const Weight& bias = {});
// x + bias alone: for row-split products, whose bias is added once, after the sum over ranks.
Var add_bias(const Var& x, const Weight& bias);

}  // namespace skein::ops
