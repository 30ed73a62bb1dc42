// From logits to the next tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/kernels/sample.h"
#include "skein/text/tokenizer.h"

namespace skein::generate {

struct SamplingConfig : kernels::SampleArguments {
  uint64_t seed = 1;
  std::vector<int64_t> banned = {};  // ids that are never drawn: the others share their probability
};

// Binds every field under section "sample".
void bind(Options& options, SamplingConfig& config);
// Usage errors with the value and its range.
void check(const SamplingConfig& config);
// The same of the banned ids, of which some may be banned twice: each below `ids`, and one of the
// first `vocabulary` left.
void check_banned(const SamplingConfig& config, int64_t ids, int64_t vocabulary);

// Ids that no answer holds: of the model's `ids` those that the tokenizer does not know, and with
// `specials` its special tokens but for `end`, which ends an answer.
std::vector<int64_t> banned_ids(const text::Tokenizer& tokenizer, int64_t ids, int32_t end,
                                bool specials);

// What a draw is keyed by, beside the seed.
struct Draw {
  uint64_t prompt = 0;   // its number
  int64_t position = 0;  // below 0: none is wanted
};

// An id for each row of logits [B,V], f32 on any device, below `vocabulary`; 0 where none is
// wanted. The result [B] i32 is on the host. A pure function of its arguments, see
// kernels/sample.h. Logits of banned ids become -inf. Error(failure) when a row holds a NaN, that
// of a banned id too, or its largest logit is not finite.
Tensor sample(const Tensor& logits, int64_t vocabulary, const SamplingConfig& config,
              const std::vector<Draw>& draws);

// Of ids [B], the logarithm of what the softmax of each row's logits below `vocabulary` gives it,
// in nats. The result [B] f32 is on the host.
Tensor log_probabilities(const Tensor& logits, int64_t vocabulary, const Tensor& ids);

}  // namespace skein::generate
