#include "unicode.h"

#include <algorithm>
#include <utf8proc.h>

#include "skein/core/strings.h"

namespace skein::text {
namespace {

constexpr int32_t kCapitalIWithDot = 0x130;

// Letters in a circle or a square: symbols that have the property Alphabetic.
bool framed_letter(int32_t point) {
  return (point >= 0x24B6 && point <= 0x24E9) || (point >= 0x1F130 && point <= 0x1F149) ||
         (point >= 0x1F150 && point <= 0x1F169) || (point >= 0x1F170 && point <= 0x1F189);
}

utf8proc_category_t category(int32_t point) {
  return point < 0 ? UTF8PROC_CATEGORY_CN : utf8proc_category(point);
}

bool within(int32_t point, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t found = category(point);
  return found >= first && found <= last;
}

}  // namespace

Character character_at(std::string_view text, size_t at) {
  const unsigned char byte = text[at];
  if (byte < 128) return {byte, 1};
  int32_t point = -1;
  const auto* start = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  const utf8proc_ssize_t left = std::min<size_t>(text.size() - at, 4);
  const utf8proc_ssize_t bytes = utf8proc_iterate(start, left, &point);
  if (bytes <= 0) return {-1, 1};
  return {point, static_cast<size_t>(bytes)};
}

Character character_before(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && continues_character(text[begin])) --begin;
  const Character found = character_at(text.substr(0, end), begin);
  return found.bytes == end - begin ? found : Character{-1, 1};
}

size_t valid_bytes(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Character next = character_at(text, at);
    if (next.point < 0) break;
    at += next.bytes;
  }
  return at;
}

void append_utf8(int32_t point, std::string& text) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t count = utf8proc_encode_char(point, bytes);
  text.append(reinterpret_cast<const char*>(bytes), count);
}

bool letter(int32_t point) { return within(point, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO); }

bool capital_letter(int32_t point) {
  return category(point) == UTF8PROC_CATEGORY_LU || category(point) == UTF8PROC_CATEGORY_LT;
}

bool small_letter(int32_t point) { return category(point) == UTF8PROC_CATEGORY_LL; }

bool number(int32_t point) { return within(point, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }

bool mark(int32_t point) { return within(point, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }

bool nonspacing_mark(int32_t point) { return category(point) == UTF8PROC_CATEGORY_MN; }

bool punctuation(int32_t point) {
  return within(point, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool symbol(int32_t point) { return within(point, UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO); }

bool bert_punctuation(int32_t point) {
  if (point >= 128) return punctuation(point);
  return (point >= 33 && point <= 47) || (point >= 58 && point <= 64) ||
         (point >= 91 && point <= 96) || (point >= 123 && point <= 126);
}

bool control_or_format(int32_t point) {
  return within(point, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}

bool word_character(int32_t point) {
  const auto kind = category(point);
  return letter(point) || mark(point) || kind == UTF8PROC_CATEGORY_ND ||
         kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_PC || point == 0x200C ||
         point == 0x200D || framed_letter(point);
}

void append_lower(int32_t point, std::string& text) {
  if (point == kCapitalIWithDot) {
    text.append("i\xCC\x87");
    return;
  }
  append_utf8(utf8proc_tolower(point), text);
}

}  // namespace skein::text
