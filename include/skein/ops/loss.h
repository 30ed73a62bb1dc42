// Softmax cross entropy over a vocabulary split between ranks.
#pragma once

#include <functional>

#include "skein/comm/group.h"
#include "skein/ops/var.h"

namespace skein::ops {

// The rows of the vocabulary that a weight holds on this rank.
struct VocabShard {
  int64_t first_id = 0;  // of row 0
  int64_t valid = 0;     // rows that are real ids; the rest are padding and never count
};

// What is made of rows beside their losses.
struct RowExtras {
  // Where the weights of rows hang on their losses: called with the losses of rows [first, first +
  // n) [n] while their gradients are still to be made, gives their row_weights, which need hold
  // nothing before; both on the host. Equal on all ranks of the group.
  std::function<void(int64_t first, const Tensor& losses, const Tensor& row_weights)> weigh = {};
  Tensor entropies = {};  // [M] in the accumulator type, written: of each row's softmax, nats
  // [M], only together with entropies: their gradient in the total; undefined: 0
  Tensor entropy_weights = {};
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
// sample_rows: rows of one sample; the bits do not depend on which samples come together.
Var linear_cross_entropy(const Var& x, const Weight& weight, const Weight& bias,
                         const Tensor& targets, const Tensor& row_weights, int64_t sample_rows,
                         const VocabShard& shard, Group* group, const RowExtras& extras = {});

// `value` in place of x's, whose gradient is passed on as it is: for a loss whose slope is in the
// weights of x's rows already.
Var stand_in(const Var& x, const Tensor& value);
// `value`, of any shape, in place of x's, which gets `gradient` whatever `value` gets: for a loss
// all of whose slope is in that already.
Var stand_in(const Var& x, const Tensor& value, const Tensor& gradient);

// logits [M,N], targets [M] i32 -> the loss of each row [M] in the accumulator type, as an op of
// its own: for few classes.
Var cross_entropy(const Var& logits, const Tensor& targets);

// x [M], values [M] f32 -> (x - values)² [M] in the accumulator type.
Var squared_error(const Var& x, const Tensor& values);

// x [M]; value and slope [M] f64 on the host -> value in the accumulator type, slope being its
// derivative by x.
Var with_slope(const Var& x, const Tensor& value, const Tensor& slope);

// [M], [N], ... -> [M+N+...], of one type.
Var end_to_end(const std::vector<Var>& parts);

}  // namespace skein::ops
