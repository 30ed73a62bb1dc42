// Runs a piece of network again in backward instead of keeping its activations (Chen et al.,
// "Training deep nets with sublinear memory cost", 2016).
#pragma once

#include <functional>
#include <vector>

#include "skein/ops/var.h"

namespace skein::ops {

// function(inputs), keeping only the inputs, each of which that wants a gradient gets one; an
// undefined one is handed on as such. In backward the function runs again, recorded; it must be a
// pure function of its inputs and of what it captured by value, which counter-based random numbers
// make dropout too.
Var recompute(const std::vector<Var>& inputs, std::function<Var(const std::vector<Var>&)> function);

// x, for a piece that uses it more than once beside others that do: its gradients by these uses are
// added up before they meet those of the others, as they are where the piece is recomputed, so that
// bits do not depend on that. An undefined x stays so.
Var one_use(const Var& x);

}  // namespace skein::ops
