// Losses of rows. The pieces of softmax cross entropy over a vocabulary that may be split over
// ranks: each works on the columns held here. Sums and gradients of rows are kept in the
// accumulator type.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// Which ids the columns of logits are of: [first_id, first_id + valid); columns from `valid` on are
// padding and do not count.
struct VocabShard {
  int64_t first_id = 0;
  int64_t valid = 0;
};

// maximum [M] = largest valid logit of each row of logits [M,V]
void row_maximum(Cpu, const Tensor& logits, int64_t valid, Out maximum);
void row_maximum(Cuda, const Tensor& logits, int64_t valid, Out maximum);

// sum_exp [M] = sum over valid columns of exp(logit - maximum); target_logit [M] = logit of targets
// [M] i32 minus maximum where the target is held here, else 0.
void row_sum_exp(Cpu, const Tensor& logits, const VocabShard& shard, const Tensor& maximum,
                 const Tensor& targets, Out sum_exp, Out target_logit);
void row_sum_exp(Cuda, const Tensor& logits, const VocabShard& shard, const Tensor& maximum,
                 const Tensor& targets, Out sum_exp, Out target_logit);

// Both of them in one pass over the logits, for a vocabulary that is not split.
void row_statistics(Cpu, const Tensor& logits, int64_t valid, const Tensor& targets, Out maximum,
                    Out sum_exp, Out target_logit);
void row_statistics(Cuda, const Tensor& logits, int64_t valid, const Tensor& targets, Out maximum,
                    Out sum_exp, Out target_logit);

// losses [M] = log(sum_exp) - target_logit
void row_losses(Cpu, const Tensor& sum_exp, const Tensor& target_logit, Out losses);
void row_losses(Cuda, const Tensor& sum_exp, const Tensor& target_logit, Out losses);

// Rows whose loss is known, for its gradient.
struct PredictedRows {
  Tensor logits;  // [M,V], of the ids of `shard`
  VocabShard shard;
  Tensor targets;           // [M] i32
  Tensor maximum, sum_exp;  // [M], over all shards
};

// dlogits [M,V] = (softmax - onehot) * row_scale [M]; padding columns get 0. dlogits is of the
// logits' dtype, or bf16 or f16 where they are f32; it may be the logits themselves.
void cross_entropy_backward(Cpu, const PredictedRows& rows, const Tensor& row_scale, Out dlogits);
void cross_entropy_backward(Cuda, const PredictedRows& rows, const Tensor& row_scale, Out dlogits);

// moment [M] = sum over valid columns of exp(logit - maximum) * (logit - maximum)
void row_exp_moment(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum, Out moment);
void row_exp_moment(Cuda, const Tensor& logits, int64_t valid, const Tensor& maximum, Out moment);

// entropies [M], of each row's softmax in nats: log(sum_exp) - moment / sum_exp, both summed over
// all shards; in f64 before it is stored.
void row_entropies(Cpu, const Tensor& sum_exp, const Tensor& moment, Out entropies);
void row_entropies(Cuda, const Tensor& sum_exp, const Tensor& moment, Out entropies);

// As cross_entropy_backward, of row_scale times the loss plus entropy_scale [M] times the entropy,
// entropy [M] being each row's: d entropy / d logit = -p (log p + entropy).
void entropic_backward(Cpu, const PredictedRows& rows, const Tensor& row_scale,
                       const Tensor& entropy, const Tensor& entropy_scale, Out dlogits);
void entropic_backward(Cuda, const PredictedRows& rows, const Tensor& row_scale,
                       const Tensor& entropy, const Tensor& entropy_scale, Out dlogits);

// Label smoothing (Szegedy and others, "Rethinking the inception architecture", 2016): a share of
// each target's weight is spread evenly over all ids, its own among them.
struct Smoothing {
  double share = 0;  // in [0, 1)
  int64_t ids = 0;   // of the whole vocabulary, without padding

  double spread() const { return share / ids; }  // to each id
};

// sums [M] = sum over valid columns of logit - maximum
void row_sums(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum, Out sums);
void row_sums(Cuda, const Tensor& logits, int64_t valid, const Tensor& maximum, Out sums);

// losses [M] = log(sum_exp) - (1 - share) target_logit - spread sums, all of them over all shards.
void smoothed_losses(Cpu, const Tensor& sum_exp, const Tensor& target_logit, const Tensor& sums,
                     const Smoothing& smoothing, Out losses);
void smoothed_losses(Cuda, const Tensor& sum_exp, const Tensor& target_logit, const Tensor& sums,
                     const Smoothing& smoothing, Out losses);

// As cross_entropy_backward, of these losses: softmax - (1 - share) onehot - spread.
void smoothed_backward(Cpu, const PredictedRows& rows, const Tensor& row_scale,
                       const Smoothing& smoothing, Out dlogits);
void smoothed_backward(Cuda, const PredictedRows& rows, const Tensor& row_scale,
                       const Smoothing& smoothing, Out dlogits);

// losses [M] = the mean of (x - values)² over each row of x [M,N] and values [M,N] f32, in f64
// before it is stored, in a fixed order.
void squared_errors(Cpu, const Tensor& x, const Tensor& values, Out losses);
void squared_errors(Cuda, const Tensor& x, const Tensor& values, Out losses);

// dx [M,N] = 2 (x - values) row_scale [M] / N, in f64 before it is stored.
void squared_errors_backward(Cpu, const Tensor& x, const Tensor& values, const Tensor& row_scale,
                             Out dx);
void squared_errors_backward(Cuda, const Tensor& x, const Tensor& values, const Tensor& row_scale,
                             Out dx);

}  // namespace skein::kernels
