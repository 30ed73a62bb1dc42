#include "grams.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace skein::text {

Symbols WordNumbers::of(std::span<const std::string_view> words) {
  Symbols made;
  made.reserve(words.size());
  for (const std::string_view word : words)
    made.push_back(numbers_.try_emplace(word, numbers_.size()).first->second);
  return made;
}

Grams::Grams(std::vector<Symbols> sequences) : symbols_(std::move(sequences)) {
  size_t places = 0;
  for (const Symbols& symbols : symbols_) {
    places += symbols.size();
    grams_.emplace_back(symbols.size(), 0);
  }
  slots_.resize(std::bit_ceil(2 * places + 1));
  number_pairs();
}

void Grams::lengthen() {
  ++order_;
  for (Symbols& grams : grams_)
    if (!grams.empty()) grams.pop_back();
  number_pairs();
}

// grams_ hold what stands before the last symbol of each n-gram, and get the number of the whole.
void Grams::number_pairs() {
  const size_t mask = slots_.size() - 1;
  distinct_ = 0;
  for (size_t s = 0; s < grams_.size(); ++s) {
    for (size_t i = 0; i < grams_[s].size(); ++i) {
      const uint64_t pair = uint64_t{grams_[s][i]} << 32 | symbols_[s][i + order_ - 1];
      size_t at = (pair * 0x9E3779B97F4A7C15) >> 20 & mask;
      while (slots_[at].round == order_ && slots_[at].pair != pair) at = (at + 1) & mask;
      if (slots_[at].round != order_)
        slots_[at] = {pair, distinct_++, static_cast<uint32_t>(order_)};
      grams_[s][i] = slots_[at].number;
    }
  }
}

std::vector<int64_t> Grams::counts(size_t sequence) const {
  std::vector<int64_t> made(distinct_);
  for (const uint32_t gram : grams_[sequence]) ++made[gram];
  return made;
}

int64_t common(std::span<const int64_t> counts, std::span<const int64_t> others) {
  int64_t sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) sum += std::min(counts[i], others[i]);
  return sum;
}

}  // namespace skein::text
