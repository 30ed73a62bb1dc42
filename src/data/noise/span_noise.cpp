#include "skein/data/noise/span_noise.h"

#include <algorithm>

#include "skein/core/error.h"

namespace skein::data {

SpanCounts span_counts(int64_t tokens, const NoiseConfig& config) {
  SKEIN_CHECK(tokens >= 2);
  SpanCounts made{.tokens = tokens};
  made.removed = std::clamp<int64_t>(std::llrint(config.rate * tokens), 1, tokens - 1);
  made.spans = std::clamp<int64_t>(std::llrint(made.removed / config.span), 1,
                                   std::min(made.removed, tokens - made.removed));
  return made;
}

SpanCounts longest_spans(int64_t places, const NoiseConfig& config) {
  SpanCounts longest = span_counts(2, config);
  SKEIN_CHECK(longest.source() <= places);
  for (SpanCounts next = longest; next.source() <= places;
       next = span_counts(longest.tokens + 1, config))
    longest = next;
  return longest;
}

std::vector<int64_t> random_parts(int64_t items, int64_t parts, Draws& draws) {
  SKEIN_CHECK(parts >= 1 && parts <= items);
  std::vector<int64_t> sizes{1};
  // Of the places between two items, those that are cut are chosen one after the other.
  for (int64_t left = items - 1; left > 0; --left)
    if (draws.below(left) < parts - std::ssize(sizes))
      sizes.push_back(1);
    else
      ++sizes.back();
  return sizes;
}

NoisedSpans noised_spans(std::span<const int32_t> tokens, const NoiseVocabulary& vocabulary,
                         const NoiseConfig& config, Draws& draws) {
  const SpanCounts counts = span_counts(std::ssize(tokens), config);
  SKEIN_CHECK(counts.spans <= std::ssize(vocabulary.sentinels()));
  const auto removed = random_parts(counts.removed, counts.spans, draws);
  const auto kept = random_parts(counts.tokens - counts.removed, counts.spans, draws);
  NoisedSpans made;
  auto from = tokens.begin();
  const auto move = [&](int64_t count, std::vector<int32_t>& to) {
    to.insert(to.end(), from, from + count);
    from += count;
  };
  for (int64_t i = 0; i < counts.spans; ++i) {
    move(kept[i], made.source);
    made.source.push_back(vocabulary.sentinels()[i]);
    made.target.push_back(vocabulary.sentinels()[i]);
    move(removed[i], made.target);
  }
  made.source.push_back(vocabulary.eos());
  made.target.push_back(vocabulary.eos());
  return made;
}

}  // namespace skein::data
