// What the tokens that a policy has sampled cost it, and what the values of their critic cost that:
// the losses of PPO and its relatives, a token a row. All in f64 before it is stored.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// Columns of what is known of each token, [M,columns] f32.
namespace known {
enum Column : int64_t {
  old_logp,  // log-probability under the policy that sampled it
  ref_logp,  // and under the reference
  advantage,
  factor,  // of all its losses: its weight over that of the mean over tokens
  return_to_go,
  old_value,
  columns
};
}  // namespace known

// With A the advantage of a token and l its log-probability now:
//   ratio = exp(l - old_logp within +-20)
//   loss  = factor (clipped + k2 d^2 / 2 + k3 (e^-d - 1 + d)),  d = l - ref_logp, in k3 within +-20
//   clipped = max(-A ratio, -A (ratio within [1 - clip_low, 1 + clip_high])), where A < 0 and
//   dual > 0 at most -A dual
// (Schulman and others, "Proximal policy optimization algorithms", 2017; Ye and others, "Mastering
// complex control in MOBA games", 2020, for `dual`; Schulman, "Approximating KL divergence", 2020.)
// `clipped` has no slope where its second form or `dual` decides, nor where the log-ratio is beyond
// +-20; k3 has none beyond its.
struct PolicyTerms {
  double scale = 1;  // what the loss of a row that counts weighs in the total
  double clip_low = 0.2, clip_high = 0.2;
  double dual = 0;        // 0: none
  double k2 = 0, k3 = 0;  // coefficients of the KL to the reference, by either estimate
  double entropy = 0;     // coefficient of the bonus
};

// Of each row, [M] in the accumulator type; 0 for rows that do not count.
struct PolicyOuts {
  Out loss;
  Out approx_kl;  // (l - old_logp)^2 / 2
  Out clipped;    // 1 where the second form or `dual` decides
  Out ratio;
  Out ratio_off;    // 1 where that is not exactly 1
  Out bonus = {};   // -entropy factor times the row's entropy; undefined: not wanted
  Out slopes = {};  // of the total by -l; undefined: not wanted
};

// losses [M]: -l of each row. It is rounded to f32 first, as old_logp is: a policy that has not
// changed has a ratio of exactly 1. row_scale [M]: terms.scale, or 0 for a row that does not count.
// entropies [M]: of the rows' distributions, for the bonus. All in the accumulator type.
void policy_losses(Cpu, const PolicyTerms& terms, const Tensor& losses, const Tensor& row_scale,
                   const Tensor& known, const Tensor& entropies, const PolicyOuts& outs);
void policy_losses(Cuda, const PolicyTerms& terms, const Tensor& losses, const Tensor& row_scale,
                   const Tensor& known, const Tensor& entropies, const PolicyOuts& outs);

// With the value V = (x - mean) / deviation of a token and R its return_to_go:
//   loss = coefficient factor max((V - R)^2, (V within old_value +- clip - R)^2) / 2
// (Ziegler and others, "Fine-tuning language models from human preferences", 2019). Where the
// second is the larger one there is no slope.
struct ValueTerms {
  double coefficient = 1;
  double clip = 0;  // 0: not clipped
  double mean = 0, deviation = 1;
};

// x [M] -> losses and clipped [M] (accumulator type): clipped is 1 where the second is larger.
void value_losses(Cpu, const ValueTerms& terms, const Tensor& x, const Tensor& known, Out losses,
                  Out clipped);
void value_losses(Cuda, const ValueTerms& terms, const Tensor& x, const Tensor& known, Out losses,
                  Out clipped);

// dx [M] = the slope of each loss times row_scale [M] (accumulator type).
void value_losses_backward(Cpu, const ValueTerms& terms, const Tensor& x, const Tensor& known,
                           const Tensor& row_scale, Out dx);
void value_losses_backward(Cuda, const ValueTerms& terms, const Tensor& x, const Tensor& known,
                           const Tensor& row_scale, Out dx);

}  // namespace skein::kernels
