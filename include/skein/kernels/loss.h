// Losses of rows. The pieces of softmax cross entropy over a vocabulary that may be split over
// ranks: each works on the columns held here, [first_id, first_id + valid); columns from `valid` on
// are padding and do not count.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// maximum [M] (accumulator type) = largest valid logit of each row of logits [M,V]
void row_maximum(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum);
void row_maximum(Cuda, const Tensor& logits, int64_t valid, const Tensor& maximum);

// sum_exp [M] = sum over valid columns of exp(logit - maximum); target_logit [M] = logit of targets
// [M] i32 minus maximum where the target is held here, else 0.
void row_sum_exp(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum,
                 const Tensor& targets, int64_t first_id, const Tensor& sum_exp,
                 const Tensor& target_logit);
void row_sum_exp(Cuda, const Tensor& logits, int64_t valid, const Tensor& maximum,
                 const Tensor& targets, int64_t first_id, const Tensor& sum_exp,
                 const Tensor& target_logit);

// Both of them in one pass over the logits, for a vocabulary that is not split.
void row_statistics(Cpu, const Tensor& logits, int64_t valid, const Tensor& targets,
                    const Tensor& maximum, const Tensor& sum_exp, const Tensor& target_logit);
void row_statistics(Cuda, const Tensor& logits, int64_t valid, const Tensor& targets,
                    const Tensor& maximum, const Tensor& sum_exp, const Tensor& target_logit);

// losses [M] = log(sum_exp) - target_logit, all in the accumulator type
void row_losses(Cpu, const Tensor& sum_exp, const Tensor& target_logit, const Tensor& losses);
void row_losses(Cuda, const Tensor& sum_exp, const Tensor& target_logit, const Tensor& losses);

// dlogits [M,V] = (softmax - onehot) * row_scale [M] (accumulator type); padding columns get 0.
// dlogits is of the logits' dtype, or bf16 or f16 where they are f32; it may be the logits
// themselves.
void cross_entropy_backward(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum,
                            const Tensor& sum_exp, const Tensor& targets, int64_t first_id,
                            const Tensor& row_scale, const Tensor& dlogits);
void cross_entropy_backward(Cuda, const Tensor& logits, int64_t valid, const Tensor& maximum,
                            const Tensor& sum_exp, const Tensor& targets, int64_t first_id,
                            const Tensor& row_scale, const Tensor& dlogits);

// moment [M] (accumulator type) = sum over valid columns of exp(logit - maximum) * (logit -
// maximum).
void row_exp_moment(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum,
                    const Tensor& moment);
void row_exp_moment(Cuda, const Tensor& logits, int64_t valid, const Tensor& maximum,
                    const Tensor& moment);

// entropies [M], of each row's softmax in nats: log(sum_exp) - moment / sum_exp, both summed over
// all shards; in f64 before it is stored. All in the accumulator type.
void row_entropies(Cpu, const Tensor& sum_exp, const Tensor& moment, const Tensor& entropies);
void row_entropies(Cuda, const Tensor& sum_exp, const Tensor& moment, const Tensor& entropies);

// As cross_entropy_backward, of row_scale times the loss plus entropy_scale [M] times the entropy,
// entropy [M] being each row's: d entropy / d logit = -p (log p + entropy).
void entropic_backward(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum,
                       const Tensor& sum_exp, const Tensor& targets, int64_t first_id,
                       const Tensor& row_scale, const Tensor& entropy, const Tensor& entropy_scale,
                       const Tensor& dlogits);
void entropic_backward(Cuda, const Tensor& logits, int64_t valid, const Tensor& maximum,
                       const Tensor& sum_exp, const Tensor& targets, int64_t first_id,
                       const Tensor& row_scale, const Tensor& entropy, const Tensor& entropy_scale,
                       const Tensor& dlogits);

// losses [M] (accumulator type) = (x [M] - values [M] f32)², in f64 before it is stored.
void squared_errors(Cpu, const Tensor& x, const Tensor& values, const Tensor& losses);
void squared_errors(Cuda, const Tensor& x, const Tensor& values, const Tensor& losses);

// dx [M] = 2 (x - values) row_scale [M] (accumulator type), in f64 before it is stored.
void squared_errors_backward(Cpu, const Tensor& x, const Tensor& values, const Tensor& row_scale,
                             const Tensor& dx);
void squared_errors_backward(Cuda, const Tensor& x, const Tensor& values, const Tensor& row_scale,
                             const Tensor& dx);

}  // namespace skein::kernels
