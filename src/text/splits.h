// How an imported tokenizer divides normalised text into words.
#pragma once

#include "skein/text/split.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skein/text/pattern.h"
#include "unicode.h"

namespace skein {

struct SplitStep {
  enum class Kind { gpt2, llama3, pattern, bert, prefix_space };
  enum class Keep { all, matches, others };
  Kind kind;
  size_t digits = 3;                         // llama3: the most numbers in a piece
  std::shared_ptr<const Pattern> pattern{};  // pattern: its matches and what lies between them are pieces
  Keep keep = Keep::all;                     // pattern: which of them stay
};

// BERT's words: what stands between white space, with each punctuation character apart.
template <class Piece>
void split_bert(std::string_view text, Piece&& piece) {
  size_t begin = 0;
  const auto flush = [&](size_t end) {
    if (end > begin) piece(text.substr(begin, end - begin));
  };
  for (size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    const bool space = white_space(next.point), apart = !space && bert_punctuation(next.point);
    if (space || apart) {
      flush(at);
      begin = at + (space ? next.bytes : 0);
    }
    at += next.bytes;
    if (!apart) continue;
    flush(at);
    begin = at;
  }
  flush(text.size());
}

// Applies steps[from], then the following ones to each of its pieces; calls piece(std::string_view) with what
// the last one makes.
template <class Piece>
void split_by(const std::vector<SplitStep>& steps, size_t from, std::string_view text, Piece& piece) {
  if (text.empty()) return;
  if (from == steps.size()) return piece(text);
  const SplitStep& step = steps[from];
  const auto next = [&](std::string_view part) { split_by(steps, from + 1, part, piece); };
  switch (step.kind) {
    case SplitStep::Kind::gpt2:
      return split_gpt2(text, next);
    case SplitStep::Kind::bert:
      return split_bert(text, next);
    case SplitStep::Kind::llama3:
      for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
        end = llama3_piece_end(text, begin, step.digits);
        next(text.substr(begin, end - begin));
      }
      return;
    case SplitStep::Kind::prefix_space:
      return text.front() == ' ' ? next(text) : next(" " + std::string(text));
    case SplitStep::Kind::pattern:
      return step.pattern->divide(text, [&](std::string_view part, bool matched) {
        if (step.keep == SplitStep::Keep::all || matched == (step.keep == SplitStep::Keep::matches))
          next(part);
      });
  }
}

}  // namespace skein
