// Characters of UTF-8 text and the Unicode properties that tokenizers ask for (utf8proc's tables,
// Unicode 15).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skein/text/split/utf8.h"

namespace skein::text {

struct Character {
  int32_t point;  // -1 for a byte that is not part of valid UTF-8
  size_t bytes;
};

// The character that begins at `at` < text.size().
Character character_at(std::string_view text, size_t at);

// The character that ends at `end` > 0.
Character character_before(std::string_view text, size_t end);

void append_utf8(int32_t point, std::string& text);

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

constexpr bool ascii(char byte) { return (byte & 0x80) == 0; }

constexpr bool ascii_space(unsigned char byte) { return byte == ' ' || (byte >= 9 && byte <= 13); }

// The property White_Space.
constexpr bool white_space(int32_t point) {
  if (point < 0x80) return point >= 0 && ascii_space(point);
  return point == 0x85 || point == 0xA0 || point == 0x1680 ||
         (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

// General categories; false for a point of -1.
bool letter(int32_t point);           // L
bool capital_letter(int32_t point);   // Lu and Lt
bool small_letter(int32_t point);     // Ll
bool number(int32_t point);           // N
bool mark(int32_t point);             // M
bool nonspacing_mark(int32_t point);  // Mn
bool punctuation(int32_t point);      // P
bool symbol(int32_t point);           // S
// P, and all of ASCII that is no space, letter, digit or control.
bool bert_punctuation(int32_t point);
bool control_or_format(int32_t point);  // C without the code points that have no character yet (Cn)
bool word_character(int32_t point);     // \w: Alphabetic, M, Nd, Pc or a join control

// Simple lower case, and the one character whose lower case is two.
void append_lower(int32_t point, std::string& text);

}  // namespace skein::text
