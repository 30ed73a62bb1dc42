#include "skein/generate/answer_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/text/split/utf8.h"

namespace skein::generate {
namespace {

// The longest character has four bytes; more at the end that are no text will not become text.
constexpr size_t kLongestCharacter = 4;

// The byte that stands behind the backslash at `at`, which then points behind it.
char escaped(const std::string& written, size_t& at) {
  const char kind = at + 1 < written.size() ? written[at + 1] : 0;
  at += 2;
  if (kind == 'n') return '\n';
  if (kind == 't') return '\t';
  if (kind == '\\') return '\\';
  unsigned byte = 0;
  const char* const digits = written.data() + std::min(at, written.size());
  const bool known = kind == 'x' && at + 2 <= written.size() &&
                     std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
  require(known,
          "generate.stop holds '{}', in which a backslash is followed by none of n, t, \\ and x "
          "with two hexadecimal digits",
          written);
  at += 2;
  return static_cast<char>(byte);
}

std::string read_escapes(const std::string& written) {
  std::string text;
  for (size_t at = 0; at < written.size();)
    text += written[at] == '\\' ? escaped(written, at) : written[at++];
  return text;
}

}  // namespace

void bind_stops(Options& options, std::string& stop) {
  options.add(
      "generate.stop", stop,
      "comma-separated texts that end an answer, which is cut before the first of them; "
      "\\n, \\t, \\\\ and \\xHH are read as in C (\\x2c: a comma, \\x20: a space at an end)");
}

std::vector<std::string> stops_in(const std::string& written) {
  std::vector<std::string> stops;
  for (size_t begin = 0; !written.empty() && begin <= written.size();) {
    const size_t end = std::min(written.find(',', begin), written.size());
    stops.push_back(written.substr(begin, end - begin));
    require(stops.back() == trimmed(stops.back()),
            "generate.stop holds '{}', with a space at an end; write \\x20 where the text has it, "
            "else leave it out",
            visible(stops.back()));
    begin = end + 1;
  }
  return stops;
}

StopTexts::StopTexts(const std::vector<std::string>& written) {
  for (const std::string& one : written) {
    require(!one.empty(), "generate.stop holds an empty text, with which every answer begins");
    texts_.push_back(read_escapes(one));
    longest_ = std::max(longest_, texts_.back().size());
  }
}

std::optional<std::string> StopTexts::cut(const std::string& text) const {
  size_t first = std::string::npos;
  for (const std::string& stop : texts_) first = std::min(first, text.find(stop));
  if (first == std::string::npos) return std::nullopt;
  return text.substr(0, first);
}

bool StopTexts::ends(const Tokens& answer, const TextOf& text_of) const {
  if (!any()) return false;
  // A stop text and what is before it: a tokenizer may leave out a space before the first token.
  const size_t enough = longest_ + kLongestCharacter;
  for (size_t count = std::min(answer.size(), enough);;
       count = std::min(answer.size(), 2 * count)) {
    const std::string text =
        text_of({answer.end() - static_cast<std::ptrdiff_t>(count), answer.end()});
    if (text.size() >= enough || count == answer.size()) return cut(text).has_value();
  }
}

size_t StopTexts::beginning_of_one(const std::string& text) const {
  for (size_t count = std::min(text.size(), longest_); count > 0; --count)
    for (const std::string& stop : texts_)
      if (stop.starts_with(std::string_view(text).substr(text.size() - count))) return count;
  return 0;
}

Tokens tokens_saying(const std::string& text, Tokens answer, const TextOf& text_of) {
  const size_t bytes = text.find_last_not_of(" \t\r\n") + 1;
  for (Tokens fewer = answer; !fewer.empty(); answer = fewer) {
    fewer.pop_back();
    if (text_of(fewer).size() < bytes) break;
  }
  return answer;
}

std::string AnswerStream::next(const std::string& text) {
  size_t end = text.size() - stops_->beginning_of_one(text);
  const size_t valid = text::valid_bytes(std::string_view(text).substr(0, end));
  if (end - valid < kLongestCharacter) end = valid;
  if (end <= shown_) return "";
  return text.substr(std::exchange(shown_, end), end - shown_);
}

}  // namespace skein::generate
