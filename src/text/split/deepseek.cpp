#include "skein/text/split/split.h"

#include "kinds.h"

namespace skein::text {
namespace {

enum class Group : uint8_t { word, sign, other };

struct CharacterGroup {
  Group group;
  size_t bytes;
};

bool ascii_letter(char byte) {
  const unsigned char lower = byte | 0x20;
  return lower >= 'a' && lower <= 'z';
}

CharacterGroup group_at(std::string_view text, size_t at) {
  const Character next = character_at(text, at);
  if (letter(next.point) || mark(next.point)) return {Group::word, next.bytes};
  return {punctuation(next.point) || symbol(next.point) ? Group::sign : Group::other, next.bytes};
}

size_t group_end(std::string_view text, size_t at, Group group) {
  while (at < text.size()) {
    const CharacterGroup next = group_at(text, at);
    if (next.group != group) break;
    at += next.bytes;
  }
  return at;
}

size_t deepseek_signs_end(std::string_view text, size_t at) {
  return line_breaks_end(text, group_end(text, at, Group::sign));
}

size_t ascii_letters_end(std::string_view text, size_t at) {
  while (at < text.size() && ascii_letter(text[at])) ++at;
  return at;
}

}  // namespace

size_t deepseek_match_end(std::string_view text, size_t begin) {
  const CharacterGroup first = group_at(text, begin);
  const size_t after = begin + first.bytes;
  if (first.group == Group::word) return group_end(text, after, Group::word);
  if (first.group == Group::sign) {
    const bool ascii = (text[begin] & 0x80) == 0;
    const size_t letters = ascii ? ascii_letters_end(text, after) : after;
    return letters > after ? letters : deepseek_signs_end(text, after);
  }
  if (!line_break(text[begin]))
    if (const size_t end = group_end(text, after, Group::word); end > after) return end;
  const bool blank = text[begin] == ' ' && after < text.size();
  if (blank && group_at(text, after).group == Group::sign) return deepseek_signs_end(text, after);
  return kind_at(text, begin).kind == Kind::space ? space_with_breaks_end(text, begin) : begin;
}

}  // namespace skein::text
