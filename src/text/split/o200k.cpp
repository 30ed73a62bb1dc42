// A word of o200k is "capitals, then small letters", where letters without case and marks are both.
// Its pattern says so as [capital]*[small]+ or else [capital]+[small]*, which comes to: the run of
// capitals, and the small letters behind it; where no small letter follows, the run is cut behind
// its last character without case, if it has one.
#include "skein/text/split/split.h"

#include "kinds.h"

namespace skein::text {
namespace {

constexpr size_t kMostDigits = 3;

// `prefix`: what may stand before a word, once.
enum class Case : uint8_t { capital, small, none, prefix, other };

struct CharacterCase {
  Case kind;
  size_t bytes;
  bool mark = false;
};

CharacterCase case_at(std::string_view text, size_t at) {
  const unsigned char byte = text[at];
  if (byte < 128) {
    if (byte >= 'a' && byte <= 'z') return {Case::small, 1};
    if (byte >= 'A' && byte <= 'Z') return {Case::capital, 1};
    const bool never = line_break(text[at]) || kAsciiKinds[byte] == Kind::number;
    return {never ? Case::other : Case::prefix, 1};
  }
  const Character next = character_at(text, at);
  if (capital_letter(next.point)) return {Case::capital, next.bytes};
  if (small_letter(next.point)) return {Case::small, next.bytes};
  if (letter(next.point)) return {Case::none, next.bytes};
  if (mark(next.point)) return {Case::none, next.bytes, true};
  return {number(next.point) ? Case::other : Case::prefix, next.bytes};
}

// Where the word that begins at `at` ends; `at` when there is none. caseless: whether one with a
// small letter or a letter without case is asked for, or any.
size_t word_end(std::string_view text, size_t at, bool caseless) {
  size_t end = at, after_caseless = at;
  while (end < text.size()) {
    const CharacterCase next = case_at(text, end);
    if (next.kind != Case::capital && next.kind != Case::none) break;
    end += next.bytes;
    if (next.kind == Case::none) after_caseless = end;
  }
  const size_t capitals = end;
  while (end < text.size()) {
    const CharacterCase next = case_at(text, end);
    if (next.kind != Case::small && next.kind != Case::none) break;
    end += next.bytes;
  }
  if (end > capitals) return end;
  return caseless ? after_caseless : capitals;
}

size_t letters_end(std::string_view text, size_t begin, const CharacterCase& first) {
  const bool prefix = first.kind == Case::prefix || first.mark;
  const size_t after = begin + first.bytes;
  for (const bool caseless : {true, false}) {
    if (const size_t end = prefix ? word_end(text, after, caseless) : after; end > after)
      return end;
    if (const size_t end = word_end(text, begin, caseless); end > begin) return end;
  }
  return begin;
}

size_t o200k_signs_end(std::string_view text, size_t at) {
  at = run_end(text, at, Kind::other);
  while (at < text.size() && (line_break(text[at]) || text[at] == '/')) ++at;
  return at;
}

}  // namespace

size_t o200k_piece_end(std::string_view text, size_t begin) {
  const CharacterCase first = case_at(text, begin);
  if (const size_t end = letters_end(text, begin, first); end > begin)
    return end + any_case_contraction(text.substr(end, 3));
  const ClassifiedCharacter plain = kind_at(text, begin);
  if (plain.kind == Kind::number) return numbers_end(text, begin, kMostDigits);
  if (plain.kind == Kind::other) return o200k_signs_end(text, begin);
  const bool signs =
      text[begin] == ' ' && begin + 1 < text.size() && kind_at(text, begin + 1).kind == Kind::other;
  return signs ? o200k_signs_end(text, begin + 1) : space_with_breaks_end(text, begin);
}

}  // namespace skein::text
