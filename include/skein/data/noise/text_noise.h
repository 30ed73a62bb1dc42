// The five noises of BART (Lewis and others, "BART", 2020) on one document's text, in this order:
// sentences permuted; then spans of words filled in by one mask token each, tokens masked, tokens
// deleted; then rotated.
//
// A rate r of n things is r n of them in the mean, whatever n: the whole number below it, or with
// the probability of what is left the one above. Infilling counts words, and so does noise.unit of
// masking and deletion where it is `word`. Masking and deletion take what infilling has left, so
// that the parts of a text that the three hide add up. Whatever stays (NoiseVocabulary::stays) is
// neither hidden nor counted, and a span that meets it has another mask token behind it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/data/noise/noise_vocabulary.h"

namespace skein::data {

struct CleanText {
  std::span<const int32_t> tokens;
  std::span<const int32_t> sentences;  // where each begins, ascending; none: it is one sentence
};

struct NoisedText {
  std::vector<int32_t> tokens;
  std::vector<int32_t> origins;  // which token of the text each is; -1: none, it hides some
};

// At most `most` tokens, which is at least as many as the text has: mask tokens that hide nothing
// are left out where they have no room, the last ones first.
NoisedText noised_text(const CleanText& text, const NoiseVocabulary& vocabulary,
                       const NoiseConfig& config, int64_t most, Draws& draws);

// expected >= 0, rounded to one of its neighbours so that it is the mean.
int64_t drawn_count(double expected, Draws& draws);

// Poisson numbers of a mean in (0, 100], until their sum is at least `sum`; the last is made
// smaller so that it is. Empty for 0.
std::vector<int64_t> drawn_lengths(int64_t sum, double mean, Draws& draws);

}  // namespace skein::data
