// Table look-up on the tape.
#pragma once

#include "skein/ops/var.h"

namespace skein::ops {

// ids [B,T] i32, table [V,C] holding the rows from first_id on -> [B,T,C]; rows held elsewhere are zero.
Var embedding(const Tensor& ids, const Weight& table, int64_t first_id);

}  // namespace skein::ops
