// How an imported tokenizer divides normalised text into words.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skein/text/split/split.h"
#include "skein/text/split/split_pattern.h"

#include "kinds.h"
#include "normalize.h"
#include "unicode.h"

namespace skein::text {

struct SplitStep {
  enum class Kind {
    gpt2,
    llama3,
    o200k,
    deepseek,
    numbers,
    bert,
    words,
    white_space,
    punctuation,
    pattern,
    prefix_space,
    metaspace,
    marks
  };
  enum class Keep { all, matches, others };
  enum class Prepend { first, never, always };
  Kind kind;
  size_t digits = 3;  // llama3, numbers: the most numbers in a piece
  // its matches and what lies between them are pieces
  std::shared_ptr<const SplitPattern> pattern{};
  Keep keep = Keep::all;  // pattern: which of them stay
  // metaspace: what stands for a space, where it goes before text that does not begin with it, and
  // whether a word begins with each; marks: what words begin with, any number of them
  std::string mark{};
  Prepend prepend = Prepend::always;  // prefix_space: always
  bool divides = true;
};

// A run of characters of one class is a piece, but each one that stands alone is a piece of its
// own, and those that divide are left out.
enum class CharacterClass : uint8_t { word, other, alone, divides };

template <class ClassOf, class Piece>
void split_classes(std::string_view text, ClassOf&& class_of, Piece&& piece) {
  size_t begin = 0;
  CharacterClass run = CharacterClass::divides;
  for (size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    const CharacterClass found = class_of(next.point);
    if (found != run || found == CharacterClass::alone) {
      if (run != CharacterClass::divides && at > begin) piece(text.substr(begin, at - begin));
      begin = at;
      run = found;
    }
    at += next.bytes;
  }
  if (run != CharacterClass::divides && begin < text.size()) piece(text.substr(begin));
}

inline constexpr auto kWhiteSpaceDivides = [](int32_t point) {
  return white_space(point) ? CharacterClass::divides : CharacterClass::word;
};
inline constexpr auto kPunctuationAlone = [](int32_t point) {
  return bert_punctuation(point) ? CharacterClass::alone : CharacterClass::word;
};
inline constexpr auto kBertClass = [](int32_t point) {
  return white_space(point) ? CharacterClass::divides : kPunctuationAlone(point);
};
// Runs of word characters, and runs of what is neither that nor white space.
inline constexpr auto kWordClass = [](int32_t point) {
  if (white_space(point)) return CharacterClass::divides;
  return word_character(point) ? CharacterClass::word : CharacterClass::other;
};

// BERT's words: what stands between white space, with each punctuation character apart.
template <class Piece>
void split_bert(std::string_view text, Piece&& piece) {
  split_classes(text, kBertClass, piece);
}

// A piece begins at each mark, or at each that no other mark stands before.
template <class Piece>
void split_marks(std::string_view text, std::string_view mark, bool apart, Piece&& piece) {
  size_t begin = 0, after = 0;
  for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, after)) {
    if (at > begin && (apart || at > after)) {
      piece(text.substr(begin, at - begin));
      begin = at;
    }
    after = at + mark.size();
  }
  piece(text.substr(begin));
}

// The first byte of a text that is divided, and where that text stands.
struct TextStart {
  const char* at = nullptr;
  TextPlace place = TextPlace::elsewhere;
};

// Whether `step` puts a space before a part of a text.
inline bool adds_space(const SplitStep& step, std::string_view part, const TextStart& start) {
  using Prepend = SplitStep::Prepend;
  const bool first = part.data() == start.at;
  if (first && start.place == TextPlace::goes_on) return false;
  if (first && start.place == TextPlace::after_space) return step.prepend != Prepend::never;
  return step.prepend == Prepend::always ||
         (step.prepend == Prepend::first && first && start.place == TextPlace::begins);
}

// `text` with marks for spaces; `adds`: with one before it, unless it begins with one.
template <class Piece>
void split_metaspace(std::string_view text, const SplitStep& step, bool adds, Piece&& piece) {
  std::string marked;
  marked.reserve(text.size() + text.size() / 2);
  if (adds && text.front() != ' ' && !text.starts_with(step.mark)) marked = step.mark;
  for (const char byte : text)
    if (byte == ' ')
      marked += step.mark;
    else
      marked += byte;
  if (step.divides) return split_marks(marked, step.mark, true, piece);
  piece(std::string_view(marked));
}

// Applies steps[from], then the following ones to each of its pieces; calls piece(std::string_view)
// with what the last one makes.
template <class Piece>
void split_by(const std::vector<SplitStep>& steps, size_t from, std::string_view text,
              const TextStart& start, Piece& piece) {
  if (text.empty()) return;
  if (from == steps.size()) return piece(text);
  const SplitStep& step = steps[from];
  const auto next = [&](std::string_view part) { split_by(steps, from + 1, part, start, piece); };
  switch (step.kind) {
    case SplitStep::Kind::gpt2: return split_ends(text, gpt2_piece_end, next);
    case SplitStep::Kind::llama3:
      return split_ends(
          text, [&](auto whole, size_t at) { return llama3_piece_end(whole, at, step.digits); },
          next);
    case SplitStep::Kind::o200k: return split_ends(text, o200k_piece_end, next);
    case SplitStep::Kind::deepseek: return split_matches(text, deepseek_match_end, next);
    case SplitStep::Kind::numbers:
      return split_matches(
          text, [&](auto whole, size_t at) { return numbers_end(whole, at, step.digits); }, next);
    case SplitStep::Kind::bert: return split_bert(text, next);
    case SplitStep::Kind::words: return split_classes(text, kWordClass, next);
    case SplitStep::Kind::white_space: return split_classes(text, kWhiteSpaceDivides, next);
    case SplitStep::Kind::punctuation: return split_classes(text, kPunctuationAlone, next);
    case SplitStep::Kind::prefix_space:
      if (text.front() == ' ' || !adds_space(step, text, start)) return next(text);
      return next(" " + std::string(text));
    case SplitStep::Kind::metaspace:
      return split_metaspace(text, step, adds_space(step, text, start), next);
    case SplitStep::Kind::marks: return split_marks(text, step.mark, false, next);
    case SplitStep::Kind::pattern:
      return step.pattern->divide(text, [&](std::string_view part, bool matched) {
        if (step.keep == SplitStep::Keep::all || matched == (step.keep == SplitStep::Keep::matches))
          next(part);
      });
  }
}

}  // namespace skein::text
