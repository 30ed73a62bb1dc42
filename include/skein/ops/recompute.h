// Runs a piece of network again in backward instead of keeping its activations (Chen et al.,
// "Training deep nets with sublinear memory cost", 2016).
#pragma once

#include <functional>

#include "skein/ops/var.h"

namespace skein::ops {

// function(x), keeping only x. In backward the function runs again, recorded; it must be a pure
// function of x and of what it captured by value, which counter-based random numbers make dropout
// too.
Var recompute(const Var& x, std::function<Var(const Var&)> function);

}  // namespace skein::ops
