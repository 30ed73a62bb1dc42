#include "skein/text/split/split.h"

#include "skein/core/strings.h"

#include "kinds.h"

namespace skein::text {
namespace {

size_t contraction_bytes(std::string_view text) {
  if (text[0] != '\'') return 0;
  for (const std::string_view known : {"'s", "'t", "'m", "'d", "'re", "'ve", "'ll"})
    if (text.starts_with(known)) return known.size();
  return 0;
}

// A run of white space keeps its last character only at the end of the text or when it is alone.
size_t space_end(std::string_view text, size_t begin) {
  size_t end = begin, last = begin;
  while (end < text.size()) {
    const ClassifiedCharacter next = kind_at(text, end);
    if (next.kind != Kind::space) return last > begin ? last : end;
    last = end;
    end += next.bytes;
  }
  return end;
}

// How far back a cut is looked for that suits other tokenizers too.
constexpr size_t kWorthLooking = 4096;

}  // namespace

size_t gpt2_piece_end(std::string_view text, size_t begin) {
  if (const size_t bytes = contraction_bytes(text.substr(begin, 3))) return begin + bytes;
  const ClassifiedCharacter first = kind_at(text, begin);
  if (first.kind != Kind::space) return run_end(text, begin + first.bytes, first.kind);
  if (text[begin] == ' ' && begin + 1 < text.size()) {
    const ClassifiedCharacter next = kind_at(text, begin + 1);
    if (next.kind != Kind::space) return run_end(text, begin + 1 + next.bytes, next.kind);
  }
  return space_end(text, begin);
}

size_t character_bytes(std::string_view text, size_t at) { return character_at(text, at).bytes; }

size_t last_safe_cut(std::string_view text) {
  size_t fallback = 0;
  for (size_t at = text.size(); at-- > 1;) {
    const unsigned char byte = text[at];
    const unsigned char next = at + 1 < text.size() ? text[at + 1] : ' ';
    if (!ascii_space(byte) || next >= 128 || ascii_space(next)) continue;
    const unsigned char previous = text[at - 1];
    if (byte == ' ' && previous < 128 && !ascii_space(previous)) return at;
    if (fallback == 0) fallback = at;
    if (fallback - at > kWorthLooking) break;
  }
  return fallback;
}

size_t character_cut(std::string_view text, size_t limit) {
  if (limit >= text.size()) return text.size();
  size_t cut = limit;
  while (cut > 0 && limit - cut < 4 && continues_character(text[cut])) --cut;
  return continues_character(text[cut]) || cut == 0 ? limit : cut;
}

}  // namespace skein::text
