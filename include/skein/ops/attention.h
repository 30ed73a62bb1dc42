// Attention and rotary positions on the tape.
#pragma once

#include "skein/kernels/attention.h"
#include "skein/kernels/rotary.h"
#include "skein/ops/var.h"

namespace skein::ops {

using kernels::AttentionArguments;
using kernels::Pattern;
using kernels::RotaryWaves;

// q [B,T,H,D]; k, v [B,S,G,D] -> [B,T,H,D]; see kernels/attention.h. The bias is given as a Var of
// [P,H,T+S-1] or [P,H,T,S] in the accumulator type or left out, and `arguments` hold none. `level`
// becomes the [B,H,T] logarithms of what the softmax divided by: results over parts of the keys are
// put together by it.
Var attention(const Var& q, const Var& k, const Var& v, const AttentionArguments& arguments,
              const Var& bias = {}, Var* level = nullptr);
// Rows [N,C] of the parts [P,C] that each has in `rows` [R,N] i32 (-1: none), one part in one row
// at most, weighed by what attention made of their levels [P]: kernels/hashing.h.
Var merge_rounds(const Var& parts, const Var& levels, const Tensor& rows);
// x [B,T,H,D]; positions [B,T] i32.
Var rotary(const Var& x, const Tensor& positions, const RotaryWaves& waves);
// The same values under another shape.
Var reshape(const Var& x, const Shape& shape);

}  // namespace skein::ops
