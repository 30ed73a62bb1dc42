// Softmax cross entropy over a vocabulary split between ranks.
#pragma once

#include <optional>

#include "skein/comm/group.h"
#include "skein/kernels/loss.h"
#include "skein/kernels/policy.h"
#include "skein/ops/var.h"

namespace skein::ops {

using kernels::VocabShard;

// The product that makes logits, of a vocabulary that may be split over ranks.
struct VocabHead {
  Weight weight;           // [V/t,C]
  Weight bias = {};        // [V/t]; undefined: none
  VocabShard shard;        // of the weight's rows
  Group* group = nullptr;  // the ranks that share the vocabulary; null: all of it is here
};

// Of rows that are tokens which a policy has sampled: what they cost it.
struct PolicyLoss {
  kernels::PolicyTerms terms;
  Tensor known;              // [M,known::columns] f32
  kernels::PolicyOuts outs;  // slopes are the op's own
};

// Of rows whose targets are smoothed.
struct SmoothedLoss {
  kernels::Smoothing smoothing;
  Out plain = {};  // [M], in the accumulator type: the losses without smoothing; may be undefined
};

// What rows cost beside their losses, or instead of these.
struct RowExtras {
  // [M], only together with entropies: their gradient in the total; undefined: 0
  Tensor entropy_weights = {};
  std::optional<PolicyLoss> policy = {};  // a bonus only together with entropies
  // the losses are of smoothed targets; together with neither of those
  std::optional<SmoothedLoss> smoothed = {};
};

// x [M,C], targets [M] i32 -> the loss of each row [M] of the logits x · weightᵀ + bias, in the
// accumulator type and equal on all ranks of the group. Maximum, sum of exponentials and target
// logit are combined over the group (Megatron-LM's vocabulary-parallel loss).
//
// The logits of all rows never exist: rows go through in chunks, and each chunk's gradients are
// made while its logits are at hand, as row_weights [M] * (softmax - onehot), the total being the
// sum of row_weights * losses. So the weight's gradient grows here, not in backward, which must be
// handed the same row_weights and only passes x's gradient on. row_weights may be undefined where
// nothing is recorded.
//
// With extras.policy the result is what the rows cost the policy, its outs.loss, and row_weights
// are those of that: policy.terms.scale, or 0 for a row that does not count, and wanted without
// gradients too.
//
// sample_rows: rows of one sample; the bits do not depend on which samples come together.
// entropies [M], in the accumulator type: of each row's softmax, in nats; may be undefined.
Var linear_cross_entropy(const Var& x, const VocabHead& head, const Tensor& targets,
                         const Tensor& row_weights, int64_t sample_rows,
                         const RowExtras& extras = {}, Out entropies = {});

// `value`, of any shape, instead of x's, which gets `gradient` whatever `value` gets: for a loss
// all of whose slope is in that already.
Var stand_in(const Var& x, const Tensor& value, const Tensor& gradient);

// logits [M,N], targets [M] i32 -> the loss of each row [M] in the accumulator type, as an op of
// its own: for few classes. With `smoothed`, whose ids are the N classes, of smoothed targets.
Var cross_entropy(const Var& logits, const Tensor& targets,
                  const std::optional<SmoothedLoss>& smoothed = {});

// x [M,N], values [M,N] f32 -> the mean of (x - values)² over each row, [M] in the accumulator
// type.
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
