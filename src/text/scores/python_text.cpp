#include "python_text.h"

#include <algorithm>
#include <utf8proc.h>

#include "skein/core/strings.h"

#include "text/split/unicode.h"

namespace skein::text {
namespace {

constexpr int32_t kSigma = 0x3A3, kSmallSigma = 0x3C3, kFinalSigma = 0x3C2;
constexpr std::string_view kSigmaBytes = "\xCE\xA3";

bool all_ascii(std::string_view text) { return std::ranges::all_of(text, ascii); }

// Letters with case, Roman numbers and letters in frames (Cased, without what is Case_Ignorable).
bool cased(int32_t point) {
  return capital_letter(point) || small_letter(point) || point == 0xAA || point == 0xBA ||
         (point >= 0x2160 && point <= 0x217F) || (point >= 0x24B6 && point <= 0x24E9) ||
         (point >= 0x1F130 && point <= 0x1F149) || (point >= 0x1F150 && point <= 0x1F169) ||
         (point >= 0x1F170 && point <= 0x1F189);
}

// Case_Ignorable: by category, and the signs that stand within words.
bool case_ignorable(int32_t point) {
  static constexpr int32_t kSigns[] = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,
                                       0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                       0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
  const auto kind = utf8proc_category(point);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_ME ||
         kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_LM ||
         kind == UTF8PROC_CATEGORY_SK || std::ranges::binary_search(kSigns, point);
}

// Unicode's condition Final_Sigma: a cased letter before it and none after it.
bool ends_word(const Points& points, size_t sigma) {
  size_t before = sigma;
  while (before > 0 && case_ignorable(points[before - 1])) --before;
  if (before == 0 || !cased(points[before - 1])) return false;
  size_t after = sigma + 1;
  while (after < points.size() && case_ignorable(points[after])) ++after;
  return after == points.size() || !cased(points[after]);
}

std::string lower_with_sigmas(std::string_view text) {
  const Points points = points_of(text);
  std::string made;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i] == kSigma)
      append_utf8(ends_word(points, i) ? kFinalSigma : kSmallSigma, made);
    else
      append_lower(points[i], made);
  }
  return made;
}

char ascii_lower(char byte) { return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte; }

}  // namespace

bool python_space(int32_t point) { return white_space(point) || (point >= 0x1C && point <= 0x1F); }

bool python_alphanumeric(int32_t point) { return letter(point) || number(point); }

std::vector<std::string_view> python_split(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  const auto end_word = [&](size_t end) {
    if (end > begin) words.push_back(text.substr(begin, end - begin));
  };
  for (size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    if (python_space(next.point)) {
      end_word(at);
      begin = at + next.bytes;
    }
    at += next.bytes;
  }
  end_word(text.size());
  return words;
}

bool python_punctuation(char byte) {
  return (byte >= '!' && byte <= '/') || (byte >= ':' && byte <= '@') ||
         (byte >= '[' && byte <= '`') || (byte >= '{' && byte <= '~');
}

std::string_view right_stripped(std::string_view text) {
  while (!text.empty()) {
    const Character last = character_before(text, text.size());
    if (!python_space(last.point)) break;
    text.remove_suffix(last.bytes);
  }
  return text;
}

std::string_view stripped(std::string_view text) {
  while (!text.empty()) {
    const Character first = character_at(text, 0);
    if (!python_space(first.point)) break;
    text.remove_prefix(first.bytes);
  }
  return right_stripped(text);
}

std::string python_lower(std::string_view text) {
  if (text.find(kSigmaBytes) != std::string_view::npos) return lower_with_sigmas(text);
  std::string made;
  made.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (ascii(text[at])) {
      made.push_back(ascii_lower(text[at++]));
      continue;
    }
    const Character next = character_at(text, at);
    append_lower(next.point, made);
    at += next.bytes;
  }
  return made;
}

Points points_of(std::string_view text) {
  if (all_ascii(text)) return {text.begin(), text.end()};
  Points points;
  points.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    points.push_back(next.point);
    at += next.bytes;
  }
  return points;
}

std::string utf8_of(const Points& points) {
  std::string text;
  text.reserve(points.size());
  for (const int32_t point : points) append_utf8(point, text);
  return text;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  size_t found = text.find(from);
  if (found == std::string::npos) return;
  std::string made;
  size_t taken = 0;
  for (; found != std::string::npos; found = text.find(from, taken)) {
    made.append(text, taken, found - taken).append(to);
    taken = found + from.size();
  }
  text = made.append(text, taken);
}

}  // namespace skein::text
