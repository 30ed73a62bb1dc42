// Softmax cross entropy over a vocabulary split between ranks.
#pragma once

#include <optional>

#include "skein/comm/group.h"
#include "skein/kernels/policy.h"
#include "skein/ops/var.h"

namespace skein::ops {

// The rows of the vocabulary that a weight holds on this rank.
struct VocabShard {
  int64_t first_id = 0;  // of row 0
  int64_t valid = 0;     // rows that are real ids; the rest are padding and never count
};

// Of rows that are tokens which a policy has sampled: what they cost it.
struct PolicyLoss {
  kernels::PolicyTerms terms;
  Tensor known;              // [M,known::columns] f32
  kernels::PolicyRows rows;  // written; slopes are the op's own
};

// What is made of rows beside their losses, or of these.
struct RowExtras {
  Tensor entropies = {};  // [M] in the accumulator type, written: of each row's softmax, nats
  // [M], only together with entropies: their gradient in the total; undefined: 0
  Tensor entropy_weights = {};
  std::optional<PolicyLoss> policy = {};  // a bonus only together with entropies
};

// x [M,C], weight [V/t,C], bias [V/t] or undefined, targets [M] i32 -> the loss of each row [M] of
// the logits x · weightᵀ + bias, in the accumulator type and equal on all ranks of the group; null:
// the whole vocabulary is here. Maximum, sum of exponentials and target logit are combined over the
// group (Megatron-LM's vocabulary-parallel loss).
//
// The logits of all rows never exist: rows go through in chunks, and each chunk's gradients are
// made while its logits are at hand, as row_weights [M] * (softmax - onehot), the total being the
// sum of row_weights * losses. So the weight's gradient grows here, not in backward, which must be
// handed the same row_weights and only passes x's gradient on.
//
// With extras.policy the result is what the rows cost the policy, its rows.loss, and row_weights
// are those of that: policy.terms.scale, or 0 for a row that does not count, and wanted without
// gradients too.
//
// sample_rows: rows of one sample; the bits do not depend on which samples come together.
Var linear_cross_entropy(const Var& x, const Weight& weight, const Weight& bias,
                         const Tensor& targets, const Tensor& row_weights, int64_t sample_rows,
                         const VocabShard& shard, Group* group, const RowExtras& extras = {});

// `value`, of any shape, in place of x's, which gets `gradient` whatever `value` gets: for a loss
// all of whose slope is in that already.
Var stand_in(const Var& x, const Tensor& value, const Tensor& gradient);

// logits [M,N], targets [M] i32 -> the loss of each row [M] in the accumulator type, as an op of
// its own: for few classes.
Var cross_entropy(const Var& logits, const Tensor& targets);

// x [M], values [M] f32 -> (x - values)² [M] in the accumulator type.
Var squared_error(const Var& x, const Tensor& values);

struct ValueLosses {
  Var losses;
  Tensor clipped;  // 1 where the clipped form decides, which has no slope
};
// x [M], what a critic says of tokens; known [M,known::columns] f32 -> what each costs it [M], by
// kernels::value_losses; both in the accumulator type.
ValueLosses value_losses(const Var& x, const kernels::ValueTerms& terms, const Tensor& known);

// [M], [N], ... -> [M+N+...], of one type.
Var end_to_end(const std::vector<Var>& parts);

}  // namespace skein::ops
