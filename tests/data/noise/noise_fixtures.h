// A vocabulary for noise, and what tests of drawn things share.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "skein/data/noise/text_noise.h"

namespace skein::test {

// Ids 0 to 4 are [PAD], [CLS], [SEP], [MASK] and [UNK]; of the others the even ones begin a word,
// and the last 40 are sentinels, from the last one down.
class NoiseWords : public text::Tokenizer {
 public:
  static constexpr int32_t kIds = 1000, kSentinels = 40;
  static constexpr int32_t kPadding = 0, kBegin = 1, kEnd = 2, kHidden = 3, kUnknown = 4;

  int64_t vocab_size() const override { return kIds; }
  int32_t end_of_text() const override { return kEnd; }
  std::vector<int32_t> encode(std::string_view) const override { return {}; }
  text::TokenRoles roles() const override {
    return {.pad = kPadding, .unk = kUnknown, .cls = kBegin, .sep = kEnd, .mask = kHidden};
  }
  std::vector<std::pair<std::string, int32_t>> special_tokens() const override {
    std::vector<std::pair<std::string, int32_t>> made{{"[PAD]", 0}, {"[SEP]", 2}};
    for (int32_t i = 0; i < kSentinels; ++i)
      made.emplace_back("<extra_id_" + std::to_string(i) + ">", kIds - 1 - i);
    return made;
  }
  std::string_view bytes_of(int32_t id) const override {
    return id < 5 || id >= kIds - kSentinels ? "" : id % 2 == 0 ? " a" : "b";
  }
  std::string to_json() const override { return "{}"; }
};

inline data::NoiseVocabulary noise_words(const data::NoiseConfig& config) {
  return {NoiseWords(), config, "a test"};
}

// Of BART's noises none yet.
inline data::NoiseConfig no_noise() {
  data::NoiseConfig made;
  made.infill = made.permute = 0;
  return made;
}

constexpr int64_t kRoomy = 1 << 20;

// Words of one token each, in rising order: 6, 8, 10, ...
inline std::vector<int32_t> short_words(int32_t count) {
  std::vector<int32_t> made;
  for (int32_t i = 0; i < count; ++i) made.push_back(6 + 2 * i);
  return made;
}

inline data::NoisedText noised(const std::vector<int32_t>& text, const data::NoiseConfig& config,
                               uint64_t stream, const std::vector<int32_t>& sentences = {},
                               int64_t most = kRoomy) {
  static const data::NoiseVocabulary vocabulary = noise_words({});
  data::Draws draws(7, stream);
  return data::noised_text({text, sentences}, vocabulary, config, most, draws);
}

// Distance of counts from what is expected of each, in the way of Pearson; cells of which fewer
// than 5 are expected are taken together. `cells` says how many there were.
template <class Key>
double chi_square(const std::map<Key, double>& expected, const std::map<Key, double>& counted,
                  int* cells) {
  double sum = 0, rest_expected = 0, rest_counted = 0;
  *cells = 0;
  const auto add = [&](double wanted, double found) {
    sum += (found - wanted) * (found - wanted) / wanted;
    ++*cells;
  };
  for (const auto& [key, wanted] : expected) {
    const auto at = counted.find(key);
    const double found = at == counted.end() ? 0 : at->second;
    if (wanted >= 5)
      add(wanted, found);
    else
      rest_expected += wanted, rest_counted += found;
  }
  for (const auto& [key, found] : counted)
    if (!expected.contains(key)) rest_counted += found;
  if (rest_expected >= 1 || rest_counted > 0) add(std::max(rest_expected, 1e-3), rest_counted);
  return sum;
}

// What a chi-square of so many cells stays below in all but about 1 of 10,000 cases
// (Wilson and Hilferty's approximation).
inline double chi_square_limit(int cells) {
  const double freedom = cells - 1, part = 2 / (9 * freedom);
  return freedom * std::pow(1 - part + 3.72 * std::sqrt(part), 3);
}

}  // namespace skein::test
