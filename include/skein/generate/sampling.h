// From logits to the next tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/core/options.h"
#include "skein/kernels/sample.h"

namespace skein {

struct SamplingConfig : kernels::SampleArguments {
  uint64_t seed = 1;
};

// Binds every field under section "sample".
void bind(Options& options, SamplingConfig& config);
// Usage errors with the value and its range.
void check(const SamplingConfig& config);

// What a draw is keyed by, beside the seed.
struct Draw {
  uint64_t prompt = 0;
  int64_t position = 0;  // below 0: none is wanted
};

// An id for each row of logits [B,V], f32 on any device, below `vocabulary`; 0 where none is wanted. The result [B] i32 is on the
// host. A pure function of its arguments, see kernels/sample.h. Error(failure) when a row holds a NaN or its largest logit is not
// finite.
Tensor sample(const Tensor& logits, int64_t vocabulary, const SamplingConfig& config, const std::vector<Draw>& draws);

}  // namespace skein
