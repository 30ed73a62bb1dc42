// Runs a piece of network again in backward instead of keeping its activations (Chen et al.,
// "Training deep nets with sublinear memory cost", 2016).
#pragma once

#include <functional>
#include <vector>

#include "skein/ops/var.h"

namespace skein::ops {

// Returns function(inputs) and keeps only the inputs. Each input that wants a gradient gets one; an
// undefined input is handed on as such. In backward the function runs again, recorded; it must be a
// pure function of its inputs and of what it captured by value, which counter-based random numbers
// make dropout too.
Var recompute(const std::vector<Var>& inputs, std::function<Var(const std::vector<Var>&)> function);

// x, for a piece that uses it more than once while other pieces use it, too. The gradients of this
// piece's uses are added up first, and their sum is added to those of the others, as it happens
// where the piece is recomputed; so the bits do not depend on recomputation. An undefined x stays
// so.
Var one_use(const Var& x);

}  // namespace skein::ops
