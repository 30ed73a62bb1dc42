// Losses of one token, with their derivatives, in f64: what objectives add up with token_weight().
// dpo_losses.h has those of whole answers.
#pragma once

#include <cstdint>

#include "skein/core/options/options.h"
#include "skein/rlhf/policy/advantage.h"

namespace skein {

struct PolicyClip {
  double low = 0.2, high = 0.2;  // the ratio counts within [1 - low, 1 + high]
  double dual = 0;               // bound on the loss where A < 0, times -A; 0: none
};

// Binds the fields as ppo.clip_low, ppo.clip_high and ppo.dual_clip.
void bind(Options& options, PolicyClip& clip);
// Usage errors with the value: 0 < low < 1, high > 0, dual 0 or above 1.
void check(const PolicyClip& clip);

struct PolicyLoss {
  double loss = 0;
  double derivative = 0;  // by the new log-probability
  double ratio = 1;
  bool clipped = false;       // the clipped form is strictly larger: no gradient
  bool dual_clipped = false;  // bounded by `dual`: no gradient
};

// The clipped surrogate (Schulman et al. 2017, PPO), for the token's advantage A:
//   ratio = exp(clamp(logp - old_logp, +-20));  loss = max(-A ratio, -A clip(ratio, 1 - low, 1 +
//   high))
// and where A < 0 and dual > 0 (Ye et al. 2020, dual clip): min(that, -A dual).
// With logp = old_logp the ratio is 1 to the bit. The clamp has derivative 0 beyond its bounds.
PolicyLoss policy_loss(double logp, double old_logp, double advantage, const PolicyClip& clip);

struct ValueLoss {
  double loss = 0;
  double derivative = 0;  // by V
  bool clipped = false;   // the clipped form is strictly larger: no gradient
};

// 0.5 max((V - R)^2, (clip(V, V_old - range, V_old + range) - R)^2); with range 0: 0.5 (V - R)^2.
// (Ziegler et al. 2019.)
ValueLoss value_loss(double value, double old_value, double target, double range);

// How token losses become one: a weighted sum over all tokens of the GLOBAL minibatch.
enum class Aggregation {
  token_mean,     // 1 / tokens: each token alike
  sequence_mean,  // 1 / (responses n): each response alike, whatever its length n
  constant  // 1 / (responses length): as Dr. GRPO (Liu et al. 2025), with `length` tokens, such as
            // the longest allowed, for each n
};

// Of what counts in the global minibatch: over all ranks and micro-batches.
struct LossCounts {
  int64_t responses = 0;
  int64_t tokens = 0;
};

// The weight of every token of a counted response of `length` >= 1 tokens. constant: see
// Aggregation; else unused.
double token_weight(Aggregation aggregation, int64_t length, const LossCounts& counts,
                    int64_t constant = 0);

}  // namespace skein
