// The id of the largest logit.
#pragma once

#include "skein/comm/group.h"
#include "skein/ops/loss.h"

namespace skein {

// logits [M,V/t], this rank's columns -> ids [M] i32 on the host, equal logits by the lower id.
// Collective.
Tensor likeliest(const Tensor& logits, const ops::VocabShard& shard, Group& group);

}  // namespace skein
