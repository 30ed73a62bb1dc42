// Attention and rotary positions on the tape.
#pragma once

#include "skein/kernels/attention.h"
#include "skein/kernels/rotary.h"
#include "skein/ops/var.h"

namespace skein::ops {

using kernels::AttentionArguments;
using kernels::Mask;
using kernels::RotaryWaves;

// q [B,T,H,D]; k, v [B,S,G,D] -> [B,T,H,D]; see kernels/attention.h.
Var attention(const Var& q, const Var& k, const Var& v, const AttentionArguments& arguments);
// x [B,T,H,D]; positions [B,T] i32.
Var rotary(const Var& x, const Tensor& positions, const RotaryWaves& waves);
// The same values under another shape.
Var reshape(const Var& x, const Shape& shape);

}  // namespace skein::ops
