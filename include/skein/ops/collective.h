// Collectives as operations: each one's gradient is its conjugate (Megatron-LM's f, g and their
// sequence-parallel forms; Korthikanti et al., "Reducing activation recomputation", 2022). With a
// group of one each returns its input.
#pragma once

#include "skein/comm/group.h"
#include "skein/ops/var.h"

namespace skein::ops {

// Forward the identity, backward the sum over ranks: entry of a column-split product.
Var copy_to_shards(const Var& x, Group& group);
// Forward the sum over ranks, backward the identity: exit of a row-split product.
Var reduce_from_shards(const Var& x, Group& group);
// x [B,T/t,C] -> [B,T,C]; backward the sum over ranks of each rank's slice. Feeds split products.
Var gather_sequence(const Var& x, Group& group);
// To be called for made = gather_sequence(x) once forward is done with `made`: its value is freed,
// and gathered again when backward asks for it.
void gather_again(const Var& made, const Var& x, Group& group);
// x [B,T,C] -> sum over ranks, own slice [B,T/t,C]; backward gathers.
Var reduce_scatter_sequence(const Var& x, Group& group);
// As gather_sequence, for work that every rank then does alike: backward takes the own slice.
Var gather_sequence_alike(const Var& x, Group& group);
// x [B,T,C], equal on all ranks -> own slice [B,T/t,C]; backward gathers.
Var slice_sequence(const Var& x, Group& group);

// x [M,N/t], a part of the columns on each rank -> [M,N] on all of them; not recorded.
Tensor whole_columns(const Tensor& x, Group& group);

// x, which is equal on all ranks and used alike by them: in backward the first rank alone passes
// the gradient on. It is for an x that was copied to shards: there gradients are summed over ranks,
// and without this they would count once a rank.
Var once(const Var& x, Group& group);

}  // namespace skein::ops
