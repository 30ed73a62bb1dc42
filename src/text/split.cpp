#include "skein/text/split.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utf8proc.h>

namespace skein {
namespace {

enum class Kind : uint8_t { letter, number, space, other };

struct Character {
  Kind kind;
  size_t bytes;
};

constexpr bool ascii_space(unsigned char byte) { return byte == ' ' || (byte >= 9 && byte <= 13); }

constexpr std::array<Kind, 128> make_ascii_kinds() {
  std::array<Kind, 128> kinds{};
  for (unsigned char byte = 0; byte < 128; ++byte) {
    const unsigned char lower = byte | 0x20;
    kinds[byte] = ascii_space(byte)              ? Kind::space
                  : byte >= '0' && byte <= '9'   ? Kind::number
                  : lower >= 'a' && lower <= 'z' ? Kind::letter
                                                 : Kind::other;
  }
  return kinds;
}

constexpr auto kAsciiKinds = make_ascii_kinds();

// The property White_Space above ASCII; categories alone would miss U+0085.
constexpr bool wide_space(int32_t point) {
  return point == 0x85 || point == 0xA0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) ||
         point == 0x2028 || point == 0x2029 || point == 0x202F || point == 0x205F || point == 0x3000;
}

Kind wide_kind(int32_t point) {
  if (wide_space(point)) return Kind::space;
  const auto category = utf8proc_category(point);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return Kind::letter;
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return Kind::number;
  return Kind::other;
}

Character character_at(std::string_view text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 128) return {kAsciiKinds[byte], 1};
  int32_t point = 0;
  const auto* start = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  const auto left = static_cast<utf8proc_ssize_t>(std::min<size_t>(text.size() - at, 4));
  const utf8proc_ssize_t bytes = utf8proc_iterate(start, left, &point);
  if (bytes <= 0) return {Kind::other, 1};
  return {wide_kind(point), static_cast<size_t>(bytes)};
}

size_t run_end(std::string_view text, size_t at, Kind kind) {
  while (at < text.size()) {
    const Character next = character_at(text, at);
    if (next.kind != kind) break;
    at += next.bytes;
  }
  return at;
}

size_t contraction_bytes(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  switch (text[1]) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return text.size() > 2 && text[2] == 'e' ? 3 : 0;
    case 'l':
      return text.size() > 2 && text[2] == 'l' ? 3 : 0;
    default:
      return 0;
  }
}

// A run of white space keeps its last character only at the end of the text or when it is alone.
size_t space_end(std::string_view text, size_t begin) {
  size_t end = begin, last = begin;
  while (end < text.size()) {
    const Character next = character_at(text, end);
    if (next.kind != Kind::space) return last > begin ? last : end;
    last = end;
    end += next.bytes;
  }
  return end;
}

bool continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

size_t gpt2_piece_end(std::string_view text, size_t begin) {
  if (const size_t bytes = contraction_bytes(text.substr(begin, 3))) return begin + bytes;
  const Character first = character_at(text, begin);
  if (first.kind != Kind::space) return run_end(text, begin + first.bytes, first.kind);
  if (text[begin] == ' ' && begin + 1 < text.size()) {
    const Character next = character_at(text, begin + 1);
    if (next.kind != Kind::space) return run_end(text, begin + 1 + next.bytes, next.kind);
  }
  return space_end(text, begin);
}

size_t last_safe_cut(std::string_view text) {
  for (size_t at = text.size(); at-- > 1;) {
    const auto next = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : ' ');
    if (ascii_space(static_cast<unsigned char>(text[at])) && next < 128 && !ascii_space(next)) return at;
  }
  return 0;
}

size_t character_cut(std::string_view text, size_t limit) {
  if (limit >= text.size()) return text.size();
  size_t cut = limit;
  while (cut > 0 && limit - cut < 4 && continuation(text[cut])) --cut;
  return continuation(text[cut]) || cut == 0 ? limit : cut;
}

}  // namespace skein
