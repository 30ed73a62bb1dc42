// T5's noise (Raffel and others, "Exploring the Limits of Transfer Learning", 2020): spans of
// tokens are removed, and a sentinel stands for each.
//
// Of L tokens k = round(rate L) are removed in m = round(k / mean) spans, halves to the even one, k
// within [1, L-1] and m within [1, min(k, L-k)]. Text and spans take turns, text first: the k and
// the L-k tokens are cut into m parts each, all ways to do so being equally likely. So no two spans
// touch, and the last one ends the text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/data/noise/noise_vocabulary.h"

namespace skein::data {

struct SpanCounts {
  int64_t tokens = 0, removed = 0, spans = 0;
  // Places, the end included.
  int64_t source() const { return tokens - removed + spans + 1; }
  int64_t target() const { return removed + spans + 1; }
};

// tokens >= 2.
SpanCounts span_counts(int64_t tokens, const NoiseConfig& config);
// Of the longest text whose source has at most `places`: 568 tokens for 512 places, and 114 places
// of the target, with T5's rate of 0.15 and mean of 3. places >= 4.
SpanCounts longest_spans(int64_t places, const NoiseConfig& config);

// Sizes of `parts` parts of `items` things in a row, none empty; all such lists are equally likely.
// 1 <= parts <= items.
std::vector<int64_t> random_parts(int64_t items, int64_t parts, Draws& draws);

struct NoisedSpans {
  std::vector<int32_t> source;  // text, sentinel, text, sentinel, ..., end
  std::vector<int32_t> target;  // sentinel, span, sentinel, span, ..., end
};

// tokens: at least 2, with as many sentinels as they have spans.
NoisedSpans noised_spans(std::span<const int32_t> tokens, const NoiseVocabulary& vocabulary,
                         const NoiseConfig& config, Draws& draws);

}  // namespace skein::data
