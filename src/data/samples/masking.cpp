#include "skein/data/samples/masking.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::data {
namespace {

constexpr double kSpanEnds = 0.2;
constexpr int64_t kLongestSpan = 10;
// Of spans that do not fit or fall on each other, before a sample is left with fewer.
constexpr int64_t kTriesPerToken = 8;

struct Range {
  int64_t begin, end;
};

// The tokens that may be hidden, as units that are hidden together.
std::vector<Range> units_of(std::span<const int32_t> tokens, const MaskVocabulary& vocabulary,
                            bool words) {
  std::vector<Range> units;
  bool goes_on = false;
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    const int32_t id = tokens[i];
    if (vocabulary.special(id)) {
      goes_on = false;
    } else if (words && goes_on && !vocabulary.begins_word(id)) {
      units.back().end = i + 1;
    } else {
      units.push_back({i, i + 1});
      goes_on = true;
    }
  }
  return units;
}

// Units in random order, those that would pass the budget left out.
std::vector<Range> choose_units(std::vector<Range> units, int64_t budget, Draws& draws) {
  std::vector<Range> chosen;
  const auto count = std::ssize(units);
  for (int64_t i = 0; i < count && budget > 0; ++i) {
    std::swap(units[i], units[i + draws.below(count - i)]);
    const Range unit = units[i];
    if (unit.end - unit.begin > budget) continue;
    budget -= unit.end - unit.begin;
    chosen.push_back(unit);
  }
  return chosen;
}

int64_t span_words(Draws& draws) {
  const double drawn = std::log1p(-draws.uniform()) / std::log1p(-kSpanEnds);
  return std::min(kLongestSpan, 1 + static_cast<int64_t>(drawn));
}

std::vector<Range> choose_spans(const std::vector<Range>& words, int64_t budget, Draws& draws) {
  std::vector<Range> chosen;
  std::vector<bool> taken(words.size(), false);
  const auto count = std::ssize(words);
  for (int64_t tries = kTriesPerToken * budget; tries > 0 && budget > 0 && count > 0; --tries) {
    const int64_t first = draws.below(count), last = std::min(count, first + span_words(draws));
    const Range span{words[first].begin, words[last - 1].end};
    const auto begin = taken.begin() + first, end = taken.begin() + last;
    // Words with a special token between them make no span.
    int64_t tokens = 0;
    for (int64_t i = first; i < last; ++i) tokens += words[i].end - words[i].begin;
    if (tokens != span.end - span.begin || tokens > budget || std::find(begin, end, true) != end)
      continue;
    std::fill(begin, end, true);
    budget -= tokens;
    chosen.push_back(span);
  }
  return chosen;
}

// Of text whose words are all longer than what may be hidden.
Range part_of_any(const std::vector<Range>& units, int64_t budget, Draws& draws) {
  const Range unit = units[draws.below(std::ssize(units))];
  const int64_t length = unit.end - unit.begin, hidden = std::min(budget, length);
  const int64_t begin = unit.begin + draws.below(length - hidden + 1);
  return {begin, begin + hidden};
}

enum class Fate { masked, random, stays };

Fate draw_fate(const MaskConfig& config, Draws& draws) {
  const double drawn = draws.uniform();
  return drawn < config.masked                   ? Fate::masked
         : drawn < config.masked + config.random ? Fate::random
                                                 : Fate::stays;
}

}  // namespace

void bind(Options& options, MaskConfig& c) {
  options.add("mlm.rate", c.rate, "part of the tokens that an encoder must say");
  options.add("mlm.masked", c.masked, "part of these that is replaced by the mask token");
  options.add("mlm.random", c.random,
              "part of these that is replaced by any other token; the rest stays");
  options.add_choice(
      "mlm.unit", c.unit,
      {{"token", MaskUnit::token}, {"word", MaskUnit::word}, {"span", MaskUnit::span}},
      "what is hidden together: tokens alone, whole words, or spans of words");
  options.add("mlm.static", c.fixed, "hide the same places in every epoch");
  options.add_choice(
      "mlm.pairs", c.pairs,
      {{"none", PairTask::none}, {"next", PairTask::next}, {"order", PairTask::order}},
      "none: samples are running text; next: does part B follow part A? order: which of two parts "
      "is first?");
  options.add("mlm.short", c.short_samples, "part of the pairs that is cut to a random length");
}

void check(const MaskConfig& c) {
  require(c.rate > 0 && c.rate <= 1, "mlm.rate is {}; it must be in (0, 1]", c.rate);
  require(c.masked >= 0 && c.random >= 0 && c.masked + c.random <= 1 + 1e-9,
          "mlm.masked={} and mlm.random={} must not be negative, nor more than 1 together",
          c.masked, c.random);
  require(c.short_samples >= 0 && c.short_samples <= 1, "mlm.short is {}; it must be in [0, 1]",
          c.short_samples);
}

MaskVocabulary::MaskVocabulary(const text::Tokenizer& tokenizer, const std::string& origin)
    : TokenKinds(tokenizer, origin), roles_(tokenizer.roles()) {
  std::string missing;
  for (const auto& [id, name] : {std::pair{roles_.cls, "CLS"},
                                 {roles_.sep, "SEP"},
                                 {roles_.mask, "MASK"},
                                 {roles_.pad, "PAD"}})
    if (id < 0) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  require(missing.empty(),
          "an encoder's tokenizer needs special tokens for CLS, SEP, MASK and PAD; that of {} has "
          "no {}. `skein-data train-tokenizer --tokenizer.kind=wordpiece` makes one that has them",
          origin, missing);
}

int64_t most_places(const MaskConfig& config, int64_t length) {
  return std::max<int64_t>(1, std::llround(config.rate * length));
}

MaskedTokens mask_tokens(std::span<int32_t> tokens, const MaskVocabulary& vocabulary,
                         const MaskConfig& config, int64_t most, Draws draws) {
  const bool words = config.unit != MaskUnit::token;
  const std::vector<Range> units = units_of(tokens, vocabulary, words);
  int64_t count = 0;
  for (const Range& unit : units) count += unit.end - unit.begin;
  const int64_t budget = std::min(most, std::max<int64_t>(1, std::llround(config.rate * count)));
  std::vector<Range> chosen = config.unit == MaskUnit::span ? choose_spans(units, budget, draws)
                                                            : choose_units(units, budget, draws);
  if (chosen.empty() && count > 0) chosen.push_back(part_of_any(units, budget, draws));
  std::sort(chosen.begin(), chosen.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  MaskedTokens made;
  for (const Range& range : chosen) {
    Fate fate = draw_fate(config, draws);
    for (int64_t i = range.begin; i < range.end; ++i) {
      int32_t& token = tokens[i];
      made.places.push_back(narrow<int32_t>(i));
      made.targets.push_back(token);
      if (config.unit != MaskUnit::span && i > range.begin) fate = draw_fate(config, draws);
      if (fate == Fate::masked) token = vocabulary.roles().mask;
      if (fate == Fate::random) token = vocabulary.random_id(draws);
    }
  }
  return made;
}

}  // namespace skein::data
