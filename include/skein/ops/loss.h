// Softmax cross entropy over a vocabulary split between ranks.
#pragma once

#include "skein/comm/group.h"
#include "skein/ops/var.h"

namespace skein::ops {

// The columns of the vocabulary that logits hold on this rank.
struct VocabShard {
  int64_t first_id = 0;  // of column 0
  int64_t valid = 0;     // columns that are real ids; the rest are padding and never count
};

// logits [M,V/t], targets [M] i32 -> the loss of each row [M] in the accumulator type, equal on all ranks of the group.
// The gradient handed to backward is each row's weight in the total: (softmax - onehot) * weight.
// Maximum, sum of exponentials and target logit are combined over the group (Megatron-LM's vocabulary-parallel loss).
Var cross_entropy(const Var& logits, const Tensor& targets, const VocabShard& shard, Group& group);

}  // namespace skein::ops
