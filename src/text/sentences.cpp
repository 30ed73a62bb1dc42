#include "skein/text/sentences.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utf8proc.h>

#include "text/split/unicode.h"

namespace skein::text {
namespace {

constexpr size_t kSearched = size_t{64} << 10;
constexpr size_t kLongestAbbreviation = 16;

// With the full stops inside, without the last, in lower case. Sorted.
constexpr std::array<std::string_view, 28> kAbbreviations{
    "al",  "approx", "capt", "cf",  "cmdr",   "col",  "dr",  "fr", "gen", "gov",
    "hon", "lieut",  "lt",   "maj", "messrs", "mlle", "mme", "mr", "mrs", "ms",
    "mss", "mt",     "prof", "rev", "sen",    "sgt",  "st",  "vs"};
constexpr std::array<std::string_view, 27> kBeforeNumbers{
    "apr", "art",  "aug", "ca",  "ch",   "chap", "dec",  "eq",  "feb",
    "fig", "figs", "jan", "jul", "jun",  "mar",  "no",   "nos", "nov",
    "oct", "p",    "pp",  "sec", "sect", "sep",  "sept", "vol", "vols"};

// Full stops that no white space needs to follow.
bool is_wide_stop(int32_t point) {
  return point == 0x3002 || point == 0xFF01 || point == 0xFF0E || point == 0xFF1F ||
         point == 0xFF61;
}

bool is_stop(int32_t point) {
  constexpr std::u32string_view stops =
      U".!?\u2026\u061F\u06D4\u0964\u0965\u203C\u2047\u2048\u2049";
  return stops.find(point) != stops.npos || is_wide_stop(point);
}

bool is_closing(int32_t point) {
  if (point == '"' || point == '\'' || point == '_' || point == '*') return true;
  const auto category = utf8proc_category(point);
  return category == UTF8PROC_CATEGORY_PE || category == UTF8PROC_CATEGORY_PF ||
         category == UTF8PROC_CATEGORY_PI;
}

bool is_digit(int32_t point) { return utf8proc_category(point) == UTF8PROC_CATEGORY_ND; }

bool is_beginning(int32_t point) {
  if (point == '"' || point == '\'' || point == '_' || point == '*' || point == 0xBF ||
      point == 0xA1)
    return true;
  switch (utf8proc_category(point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF: return true;
    default: return false;
  }
}

template <class List>
bool holds(const List& sorted, std::string_view word) {
  return std::binary_search(sorted.begin(), sorted.end(), word);
}

// Whether what ends at `end` is the front of a word that goes on with a letter: 1 in 1b, didn' in
// didn't.
bool goes_on(std::string_view text, size_t end) {
  if (end == 0) return false;
  const Character last = character_before(text, end);
  if (last.point != '\'' && last.point != 0x2019 && last.point != '-') return is_digit(last.point);
  return end > last.bytes && letter(character_before(text, end - last.bytes).point);
}

// The letters and full stops right before `end`, in lower case where ASCII; "" when they are no
// abbreviation.
std::string word_before(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0) {
    const Character last = character_before(text, begin);
    if (!letter(last.point) && last.point != '.') break;
    begin -= last.bytes;
    if (end - begin > kLongestAbbreviation) return "";
  }
  if (goes_on(text, begin) || text.substr(begin, end - begin) == "I") return "";
  std::string word(text.substr(begin, end - begin));
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
  return word;
}

// A letter, or letters with full stops between them.
bool is_dotted(std::string_view word) {
  for (size_t at = 0; at < word.size(); ++at) {
    const Character next = character_at(word, at);
    if (!letter(next.point)) return false;
    at += next.bytes;
    if (at < word.size() && word[at] != '.') return false;
  }
  return !word.empty() && word != "a.m" && word != "p.m";
}

// Whether the full stop at `stop` belongs to the word before it.
bool abbreviates(std::string_view text, size_t stop, int32_t follower) {
  const std::string word = word_before(text, stop);
  return is_dotted(word) || holds(kAbbreviations, word) ||
         (is_digit(follower) && holds(kBeforeNumbers, word));
}

class Splitter {
 public:
  Splitter(std::string_view text, SentenceRule rule)
      : text_(text), lines_(rule == SentenceRule::lines) {}

  std::vector<size_t> ends() {
    if (text_.empty()) return {};
    while (at_ < text_.size()) {
      const Character next = character_at(text_, at_);
      if (white_space(next.point))
        pass_space();
      else if (!lines_ && is_wide_stop(next.point))
        pass_wide_stop();
      else
        at_ += next.bytes;
    }
    ends_.push_back(text_.size());
    return std::move(ends_);
  }

 private:
  void pass_space() {
    const size_t begin = at_;
    int breaks = 0;
    int32_t follower = -1;
    while (at_ < text_.size()) {
      const Character next = character_at(text_, at_);
      follower = next.point;
      if (!white_space(follower)) break;
      breaks += follower == 0x2029 ? 2 : follower == '\n' || follower == 0x2028 ? 1 : 0;
      at_ += next.bytes;
    }
    const bool ended = !ends_.empty() && ends_.back() == begin;
    if (ended && at_ == text_.size()) ends_.pop_back();
    if (begin == 0 || at_ == text_.size() || ended) return;
    if (breaks >= (lines_ ? 1 : 2) || (!lines_ && ends_before(begin, follower)))
      ends_.push_back(begin);
  }

  void pass_wide_stop() {
    while (at_ < text_.size()) {
      const Character next = character_at(text_, at_);
      if (!is_stop(next.point) && !is_closing(next.point)) break;
      at_ += next.bytes;
    }
    if (at_ < text_.size()) ends_.push_back(at_);
  }

  // Whether a sentence ends in white space that begins at `space` and that `follower` comes after.
  bool ends_before(size_t space, int32_t follower) const {
    if (!is_beginning(follower)) return false;
    size_t end = space;
    Character last = character_before(text_, end);
    while (end > last.bytes && is_closing(last.point)) {
      end -= last.bytes;
      last = character_before(text_, end);
    }
    if (!is_stop(last.point)) return false;
    const size_t stop = end - last.bytes;
    const bool alone =
        last.point == '.' && (stop == 0 || !is_stop(character_before(text_, stop).point));
    return !alone || !abbreviates(text_, stop, follower);
  }

  std::string_view text_;
  bool lines_;
  size_t at_ = 0;
  std::vector<size_t> ends_;
};

}  // namespace

std::vector<size_t> sentence_ends(std::string_view text, SentenceRule rule) {
  if (rule == SentenceRule::none && !text.empty()) return {text.size()};
  return Splitter(text, rule).ends();
}

size_t last_sentence_end(std::string_view text, SentenceRule rule) {
  const size_t skipped = text.size() - std::min(text.size(), kSearched);
  const std::vector<size_t> ends = sentence_ends(text.substr(skipped), rule);
  return ends.size() < 2 ? 0 : skipped + ends[ends.size() - 2];
}

}  // namespace skein::text
