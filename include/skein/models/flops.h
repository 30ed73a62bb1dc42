// Floating-point work of a model: what a run's speed is measured in.
#pragma once

#include <cstdint>

#include "skein/models/config.h"

namespace skein {

// How much of the T x T scores of causal attention counts: the half that is needed (Megatron-LM,
// llm.c) or all (PaLM's appendix B, torchtitan).
enum class AttentionCount { half, full };

// Floating-point operations of forward and backward for one token of a sequence of `length`,
// recomputation not counted:
//   6 L (C D (H + 2G) + H D C + k C F)   projections and feed-forward; k = 2, or 3 for swiglu
//   + A L H D T                          scores and weighted sums; A = 6 (half) or 12 (full, and of
//   encoders always)
//   + 6 C V                              head; of encoders 6 C (V + C) at 15% of the places, those
//   that are masked by default
// (Narayanan et al., "Efficient large-scale language model training on GPU clusters", 2021, without
// its recompute term.)
double block_flops_per_token(const ModelConfig& model, int64_t length,
                             AttentionCount count = AttentionCount::half);
double head_flops_per_token(const ModelConfig& model);
double model_flops_per_token(const ModelConfig& model, int64_t length,
                             AttentionCount count = AttentionCount::half);

}  // namespace skein
