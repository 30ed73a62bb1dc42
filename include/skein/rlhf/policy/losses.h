// What the losses of tokens (kernels/policy.h) are told, and how they become one.
#pragma once

#include <cstdint>

#include "skein/core/options/options.h"
#include "skein/rlhf/policy/advantage.h"

namespace skein::rlhf::policy {

struct PolicyClip {
  double low = 0.2, high = 0.2;  // the ratio counts within [1 - low, 1 + high]
  double dual = 0;               // bound on the loss where A < 0, times -A; 0: none
};

// Binds the fields as ppo.clip_low, ppo.clip_high and ppo.dual_clip.
void bind(Options& options, PolicyClip& clip);
// Usage errors with the value: 0 < low < 1, high > 0, dual 0 or above 1.
void check(const PolicyClip& clip);

// How token losses become one: a weighted sum over all tokens of the GLOBAL minibatch.
enum class Aggregation {
  token_mean,     // 1 / tokens: each token alike
  sequence_mean,  // 1 / (responses n): each response alike, whatever its length n
  constant  // 1 / (responses length): as Dr. GRPO (Liu et al. 2025), with `length` tokens, such as
            // the longest allowed, for each n
};

}  // namespace skein::rlhf::policy
