#include "skein/core/options/ini.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>

#include "skein/core/error.h"
#include "skein/core/strings.h"

namespace skein {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Escape {
  char written;  // behind a backslash
  char meant;
};
constexpr Escape kEscapes[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'"', '"'}, {'\\', '\\'}};

bool is_comment(const std::string& line) { return line.starts_with('#') || line.starts_with(';'); }

std::string unquoted_value(std::string_view text) {
  size_t cut = text.find('#');
  while (cut != std::string_view::npos &&
         (cut == 0 || (text[cut - 1] != ' ' && text[cut - 1] != '\t')))
    cut = text.find('#', cut + 1);
  return trimmed(text.substr(0, cut));
}

// text begins with the opening quote.
std::string quoted_value(const std::string& text, const std::string& where) {
  std::string value;
  size_t at = 1;
  for (; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] != '\\') {
      value += text[at];
      continue;
    }
    const auto* found = ++at < text.size() ? std::ranges::find(kEscapes, text[at], &Escape::written)
                                           : std::end(kEscapes);
    require(
        found != std::end(kEscapes),
        "{}: {} has a \\ before something else than n, r, t, \" or \\; write \\\\ for a backslash",
        where, excerpt(text));
    value += found->meant;
  }
  require(at < text.size(), "{}: {} has no closing quote", where, excerpt(text));
  const std::string rest = trimmed(std::string_view(text).substr(at + 1));
  require(rest.empty() || is_comment(rest),
          "{}: '{}' follows the closing quote; only a # comment may", where, excerpt(rest));
  return value;
}

std::string section_name(const std::string& line, const std::string& where) {
  const size_t close = line.find(']');
  require(close != std::string::npos, "{}: '{}' has no closing ]", where, excerpt(line));
  const std::string name = trimmed(line.substr(1, close - 1)),
                    rest = trimmed(line.substr(close + 1));
  require(!name.empty() && (rest.empty() || is_comment(rest)), "{}: '{}' is no [section]", where,
          excerpt(line));
  return name;
}

IniValue key_and_value(const std::string& line, const std::string& section,
                       const std::string& where) {
  const size_t equals = line.find('=');
  require(equals != std::string::npos,
          "{}: '{}' is neither [section] nor key = value nor a # comment", where, excerpt(line));
  const std::string name = trimmed(line.substr(0, equals)), raw = line.substr(equals + 1);
  require(!name.empty(), "{}: '{}' has no key before the =", where, line);
  const std::string text = trimmed(raw);
  return {section.empty() ? name : section + "." + name,
          text.starts_with('"') ? quoted_value(text, where) : unquoted_value(raw)};
}

}  // namespace

std::vector<IniValue> parse_ini(const std::string& text, const std::string& origin) {
  std::vector<IniValue> values;
  std::map<std::string, int> line_of;
  std::istringstream lines(text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size())
                                                            : text);
  std::string line, section;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = trimmed(line);
    if (line.empty() || is_comment(line)) continue;
    const std::string where = fmt::format("{}:{}", origin, number);
    if (line.starts_with('[')) {
      section = section_name(line, where);
      continue;
    }
    values.push_back(key_and_value(line, section, where));
    values.back().line = number;
    const auto [before, fresh] = line_of.emplace(values.back().key, number);
    require(fresh, "{}: {} stands in line {} already; remove one of the two", where, before->first,
            before->second);
  }
  return values;
}

std::string ini_text(const std::string& value) {
  const bool plain = value == trimmed(value) && !value.starts_with('"') &&
                     value.find_first_of("#\n\r\t") == std::string::npos;
  if (plain) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    const auto* found = std::ranges::find(kEscapes, c, &Escape::meant);
    quoted += found == std::end(kEscapes) ? std::string(1, c) : std::string{'\\', found->written};
  }
  return quoted + "\"";
}

}  // namespace skein
