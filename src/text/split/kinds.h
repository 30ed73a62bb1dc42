// The four kinds of characters that patterns of byte-level BPE tell apart. A byte that is not part
// of valid UTF-8 is of kind other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "unicode.h"

namespace skein::text {

enum class Kind : uint8_t { letter, number, space, other };

struct ClassifiedCharacter {
  Kind kind;
  size_t bytes;
};

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

inline constexpr auto kAsciiKinds = make_ascii_kinds();

inline ClassifiedCharacter kind_at(std::string_view text, size_t at) {
  const unsigned char byte = text[at];
  if (byte < 128) return {kAsciiKinds[byte], 1};
  const Character next = character_at(text, at);
  if (white_space(next.point)) return {Kind::space, next.bytes};
  if (letter(next.point)) return {Kind::letter, next.bytes};
  return {number(next.point) ? Kind::number : Kind::other, next.bytes};
}

// Where the run of characters of this kind ends that goes on at `at`.
inline size_t run_end(std::string_view text, size_t at, Kind kind) {
  while (at < text.size()) {
    const ClassifiedCharacter next = kind_at(text, at);
    if (next.kind != kind) break;
    at += next.bytes;
  }
  return at;
}

inline bool line_break(char byte) { return byte == '\n' || byte == '\r'; }

inline size_t line_breaks_end(std::string_view text, size_t at) {
  while (at < text.size() && line_break(text[at])) ++at;
  return at;
}

// What the patterns after GPT-2's have in common.
// The bytes of 's 't 'm 'd 're 've 'll in any case at the start of `text`, 0 when there is none.
// Folding case, the long s is an s.
size_t any_case_contraction(std::string_view text);
// Where white space ends: behind its last line break, else before its last character if something
// follows.
size_t space_with_breaks_end(std::string_view text, size_t begin);

}  // namespace skein::text
