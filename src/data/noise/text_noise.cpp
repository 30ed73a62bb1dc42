// Invariants:
// - A text is one list of tokens from the beginning to the end; what is hidden of it is only marked
//   until the noised text is written.
// - Words are those of the text as it was: a sentence begins one wherever it comes to stand.
// - Every covered token belongs to a span that a mask token stands for, and every span covers one
//   or more. So there are no more mask tokens of spans than covered tokens, and only those that
//   hide nothing can make a text longer.
#include "skein/data/noise/text_noise.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::data {
namespace {

enum class TokenFate : uint8_t { shown, masked, removed, covered };

struct TextToken {
  int32_t id, origin;
  bool begins, stays;
  TokenFate fate = TokenFate::shown;
  bool spanned = false;  // a span begins here
  int32_t empty = 0;     // spans without a word that stand before it
};

using TextTokens = std::vector<TextToken>;

// Tokens that are hidden together.
struct Unit {
  int64_t begin, end;
};

std::vector<int64_t> sentence_bounds(const CleanText& text) {
  const int64_t tokens = std::ssize(text.tokens);
  std::vector<int64_t> bounds{0};
  for (const int32_t start : text.sentences) {
    SKEIN_CHECK(start >= bounds.back() && start <= tokens);
    if (start > bounds.back()) bounds.push_back(start);
  }
  if (bounds.back() < tokens) bounds.push_back(tokens);
  return bounds;
}

TextTokens read_text(const CleanText& text, const std::vector<int64_t>& sentences,
                     const NoiseVocabulary& vocabulary) {
  TextTokens tokens;
  bool begins = true;
  for (const int32_t id : text.tokens) {
    const bool stays = vocabulary.stays(id);
    const int32_t origin = narrow<int32_t>(tokens.size());
    tokens.push_back({id, origin, begins || stays || vocabulary.begins_word(id), stays});
    begins = stays;
  }
  for (size_t i = 0; i + 1 < sentences.size(); ++i) tokens[sentences[i]].begins = true;
  return tokens;
}

// The first `count` of the list become a random choice of its members, in random order.
template <class T>
void choose_first(std::vector<T>& list, int64_t count, Draws& draws) {
  const int64_t size = std::ssize(list);
  for (int64_t i = 0; i < std::min(count, size - 1); ++i)
    std::swap(list[i], list[i + draws.below(size - i)]);
}

// Some sentences, chosen at random, change places among themselves.
TextTokens permuted_sentences(const TextTokens& tokens, const std::vector<int64_t>& bounds,
                              double rate, Draws& draws) {
  const int64_t sentences = std::ssize(bounds) - 1;
  std::vector<int64_t> order(sentences), moved(sentences);
  std::iota(order.begin(), order.end(), 0);
  moved = order;
  const int64_t count = drawn_count(rate * sentences, draws);
  choose_first(moved, count, draws);
  std::vector<int64_t> places(moved.begin(), moved.begin() + count);
  std::ranges::sort(places);
  for (int64_t i = 0; i < count; ++i) order[places[i]] = moved[i];
  TextTokens made;
  for (const int64_t sentence : order)
    made.insert(made.end(), tokens.begin() + bounds[sentence],
                tokens.begin() + bounds[sentence + 1]);
  return made;
}

// Words, or single tokens; not what stays.
std::vector<Unit> units_of(const TextTokens& tokens, bool words) {
  std::vector<Unit> units;
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    if (tokens[i].stays) continue;
    if (words && !tokens[i].begins)
      units.back().end = i + 1;
    else
      units.push_back({i, i + 1});
  }
  return units;
}

void cover(TextTokens& tokens, std::span<const Unit> words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const bool goes_on = i > 0 && words[i].begin == words[i - 1].end;
    if (!goes_on) tokens[words[i].begin].spanned = true;
    for (int64_t at = words[i].begin; at < words[i].end; ++at) tokens[at].fate = TokenFate::covered;
  }
}

// Words that are seen and spans of the others stand in a random order, each one being as likely, so
// no two spans can overlap. tokens has one more at its end, for what stands behind the last.
void infill(TextTokens& tokens, const std::vector<Unit>& words, const NoiseConfig& config,
            Draws& draws) {
  const int64_t hidden = drawn_count(config.infill * std::ssize(words), draws);
  std::vector<int64_t> lengths = drawn_lengths(hidden, config.span, draws);
  choose_first(lengths, std::ssize(lengths), draws);
  int64_t word = 0, seen = std::ssize(words) - hidden;
  for (size_t span = 0; span < lengths.size();) {
    const int64_t spans_left = std::ssize(lengths) - span;
    if (draws.below(seen + spans_left) < seen) {
      --seen, ++word;
      continue;
    }
    const int64_t length = lengths[span++];
    const bool last = word == std::ssize(words);
    if (length == 0) ++tokens[last ? std::ssize(tokens) - 1 : words[word].begin].empty;
    cover(tokens, std::span(words).subspan(word, length));
    word += length;
  }
}

// Of the units that are still seen; the rates are of all units.
void mask_and_delete(TextTokens& tokens, std::vector<Unit> units, const NoiseConfig& config,
                     Draws& draws) {
  const int64_t all = std::ssize(units);
  std::erase_if(units,
                [&](const Unit& unit) { return tokens[unit.begin].fate != TokenFate::shown; });
  const int64_t masked = std::min(drawn_count(config.mask * all, draws), std::ssize(units));
  const int64_t hidden =
      std::min(masked + drawn_count(config.remove * all, draws), std::ssize(units));
  choose_first(units, hidden, draws);
  for (int64_t i = 0; i < hidden; ++i)
    for (int64_t at = units[i].begin; at < units[i].end; ++at)
      tokens[at].fate = i < masked ? TokenFate::masked : TokenFate::removed;
}

// Leaves out mask tokens that hide nothing, until the text has room.
void make_room(TextTokens& tokens, int64_t most) {
  int64_t length = -1;  // the one at the end is none
  for (const TextToken& token : tokens)
    length += token.empty + (token.spanned ? 1 : 0) + (token.fate == TokenFate::shown ? 1 : 0);
  for (auto token = tokens.rbegin(); token != tokens.rend() && length > most; ++token) {
    const int32_t left_out = narrow<int32_t>(std::min<int64_t>(token->empty, length - most));
    token->empty -= left_out;
    length -= left_out;
  }
  SKEIN_CHECK(length <= most);
}

NoisedText written(const TextTokens& tokens, const NoiseVocabulary& vocabulary, double random,
                   Draws& draws) {
  NoisedText made;
  const auto write = [&](int32_t id, int32_t origin) {
    made.tokens.push_back(id);
    made.origins.push_back(origin);
  };
  for (const TextToken& token : tokens) {
    for (int32_t i = 0; i < token.empty; ++i) write(vocabulary.mask(), -1);
    if (token.spanned) write(vocabulary.mask(), -1);
    if (&token == &tokens.back()) break;
    if (token.fate == TokenFate::shown) write(token.id, token.origin);
    if (token.fate == TokenFate::masked)
      write(draws.uniform() < random ? vocabulary.random_id(draws) : vocabulary.mask(), -1);
  }
  return made;
}

void rotate(NoisedText& text, double rate, Draws& draws) {
  if (text.tokens.empty() || draws.uniform() >= rate) return;
  const int64_t first = draws.below(std::ssize(text.tokens));
  std::rotate(text.tokens.begin(), text.tokens.begin() + first, text.tokens.end());
  std::rotate(text.origins.begin(), text.origins.begin() + first, text.origins.end());
}

// By inversion; the limit is where a mean of 100 has no more than 1e-15 left.
int64_t drawn_poisson(double mean, Draws& draws) {
  constexpr int64_t kMost = 200;
  const double drawn = draws.uniform();
  double share = std::exp(-mean), sum = share;
  int64_t number = 0;
  while (drawn >= sum && number < kMost) {
    share *= mean / ++number;
    sum += share;
  }
  return number;
}

}  // namespace

int64_t drawn_count(double expected, Draws& draws) {
  const double whole = std::floor(expected);
  return static_cast<int64_t>(whole) + (draws.uniform() < expected - whole ? 1 : 0);
}

std::vector<int64_t> drawn_lengths(int64_t sum, double mean, Draws& draws) {
  std::vector<int64_t> lengths;
  while (sum > 0) {
    lengths.push_back(std::min(sum, drawn_poisson(mean, draws)));
    sum -= lengths.back();
  }
  return lengths;
}

NoisedText noised_text(const CleanText& text, const NoiseVocabulary& vocabulary,
                       const NoiseConfig& config, int64_t most, Draws& draws) {
  SKEIN_CHECK(most >= std::ssize(text.tokens));
  const std::vector<int64_t> sentences = sentence_bounds(text);
  TextTokens tokens =
      permuted_sentences(read_text(text, sentences, vocabulary), sentences, config.permute, draws);
  const std::vector<Unit> words = units_of(tokens, true);
  const bool by_word = config.unit == MaskUnit::word;
  const std::vector<Unit> units = by_word ? words : units_of(tokens, false);
  tokens.push_back({});
  infill(tokens, words, config, draws);
  make_room(tokens, most);
  mask_and_delete(tokens, units, config, draws);
  NoisedText made = written(tokens, vocabulary, config.random, draws);
  rotate(made, config.rotate, draws);
  return made;
}

}  // namespace skein::data
