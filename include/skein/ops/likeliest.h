// The id of the largest logit.
#pragma once

#include "skein/comm/group.h"
#include "skein/ops/loss.h"

namespace skein::ops {

// logits [M,V/t], this rank's columns -> ids [M] i32 on the host, equal logits by the lower id.
// Collective.
Tensor likeliest(const Tensor& logits, const VocabShard& shard, Group& group);

}  // namespace skein::ops
