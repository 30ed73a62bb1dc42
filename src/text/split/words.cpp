#include "skein/text/split/words.h"

#include <algorithm>

#include "normalize.h"
#include "unicode.h"

namespace skein::text {
namespace {

constexpr int32_t kReplacement = 0xFFFD;
constexpr int32_t kRightQuote = 0x2019;

bool joins(int32_t point) { return point == '\'' || point == '-' || point == kRightQuote; }

bool is_word(std::string_view text, size_t at) {
  return at < text.size() && word_character(character_at(text, at).point);
}

// Where the word that begins at `at` ends.
size_t word_end(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Character next = character_at(text, at);
    const bool inside =
        word_character(next.point) || (joins(next.point) && is_word(text, at + next.bytes));
    if (!inside) break;
    at += next.bytes;
  }
  return at;
}

}  // namespace

std::string folded(std::string_view text) {
  const std::string composed = normalized(text, NormalizerStep{NormalizerStep::Kind::nfc});
  std::string made;
  bool blank = false;
  for (size_t at = 0; at < composed.size();) {
    const Character next = character_at(composed, at);
    if (white_space(next.point)) {
      blank = !made.empty();
    } else {
      if (blank) made += ' ';
      blank = false;
      if (next.point < 0)
        made += composed[at];
      else
        append_lower(next.point, made);
    }
    at += next.bytes;
  }
  return made;
}

std::vector<std::string> folded_words(std::string_view text) {
  const std::string whole = folded(text);
  std::vector<std::string> words;
  for (size_t at = 0; at < whole.size();) {
    const size_t end = is_word(whole, at) ? word_end(whole, at) : at;
    if (end > at) words.push_back(whole.substr(at, end - at));
    at = end > at ? end : at + character_at(whole, at).bytes;
  }
  return words;
}

std::string with_valid_utf8(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const size_t valid = valid_bytes(text);
    made += text.substr(0, valid);
    if (valid < text.size()) append_utf8(kReplacement, made);
    text.remove_prefix(std::min(text.size(), valid + 1));
  }
  return made;
}

}  // namespace skein::text
