// From logits to the next token.
#pragma once

#include <cstdint>
#include <span>

#include "skein/core/options.h"

namespace skein {

struct SamplingConfig {
  double temperature = 1;  // 0: the likeliest token, always
  int64_t top_k = 0;       // only the k likeliest; 0: all
  double top_p = 1;        // of these only the smallest set whose probabilities reach p
  uint64_t seed = 1;
};

// Binds every field under section "sample".
void bind(Options& options, SamplingConfig& config);
// Usage errors with the value and its range.
void check(const SamplingConfig& config);

// An id drawn from softmax(logits / temperature), cut by top_k, then by top_p (Holtzman et al., "The curious case of neural text
// degeneration", 2020). logits [V]. A pure function of its arguments: the draw is keyed by (seed, prompt, position). Equal
// logits go by the lower id. Error(failure) when a logit is NaN.
int32_t sample(std::span<const float> logits, const SamplingConfig& config, uint64_t prompt, int64_t position);

}  // namespace skein
