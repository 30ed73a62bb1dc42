#include "lines.h"

#include <cmath>
#include <optional>
#include <string_view>

#include "skein/core/strings.h"
#include "skein/text/split/utf8.h"

namespace skein::rlhf::oracle {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";
constexpr std::string_view kMark = "\xEF\xBB\xBF";
constexpr size_t kShownBytes = 60;

std::optional<double> decimal(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto value = parsed_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<double> decimal_or_fraction(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == text.npos) return decimal(text);
  const auto above = decimal(text.substr(0, slash)), below = decimal(text.substr(slash + 1));
  if (!above || !below || *below == 0 || !std::isfinite(*above / *below)) return std::nullopt;
  return *above / *below;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty() || line.front() == '#') return words;
    const size_t end = std::min(line.find_first_of(kBlanks), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

}  // namespace

std::string shown_word(const std::string& word) {
  if (word.size() <= kShownBytes) return word;
  size_t cut = kShownBytes;
  while (cut > 0 && continues_character(word[cut])) --cut;
  return word.substr(0, cut) + "...";
}

void OracleLine::require_words(size_t least, size_t most, const std::string& form) const {
  const size_t given = words.size() - 1;
  require_that(given >= least && given <= most,
               "'{}' is followed by {} words; a right line looks like this: {}",
               shown_word(keyword()), given, form);
}

double OracleLine::number(const std::string& word, const std::string& what) const {
  const std::optional<double> value = decimal_or_fraction(word);
  require_that(value.has_value(), "{} is '{}', which is no number like 0.25, 1e-3 or 1/4", what,
               shown_word(word));
  return *value;
}

double OracleLine::number_within(const std::string& word, const std::string& what, double least,
                                 double most) const {
  const double value = number(word, what);
  require_that(value >= least && value <= most, "{} is {}; it must lie between {} and {}", what,
               shown_word(word), least, most);
  return value;
}

int64_t OracleLine::whole(const std::string& word, const std::string& what, int64_t least,
                          int64_t most) const {
  const auto value = parsed_number<int64_t>(word);
  require_that(value && *value >= least && *value <= most,
               "{} is '{}'; it must be a whole number between {} and {}", what, shown_word(word),
               least, most);
  return *value;
}

std::vector<OracleLine> oracle_lines(const std::string& text, const std::string& origin) {
  std::vector<OracleLine> lines;
  std::string_view rest = text;
  if (rest.starts_with(kMark)) rest.remove_prefix(kMark.size());
  for (int64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string where = fmt::format("{}:{}", origin, number);
    require(text::valid_utf8(line),
            "{}: the line is not valid UTF-8 text; is this a language file?", where);
    if (std::vector<std::string> words = words_of(line); !words.empty())
      lines.push_back({where, std::move(words)});
  }
  return lines;
}

std::vector<const OracleLine*> OracleLines::named(const std::string& keyword) const {
  std::vector<const OracleLine*> lines;
  for (const OracleLine& line : lines_)
    if (line.keyword() == keyword) lines.push_back(&line);
  return lines;
}

const OracleLine* OracleLines::one(const std::string& keyword) const {
  const std::vector<const OracleLine*> lines = named(keyword);
  if (lines.size() > 1)
    lines[1]->refuse("'{}' is said a second time; {} says it first", keyword, lines[0]->where);
  return lines.empty() ? nullptr : lines[0];
}

const OracleLine& OracleLines::needed(const std::string& keyword, const std::string& form) const {
  const OracleLine* line = one(keyword);
  require(line != nullptr, "{} has no line '{}', such as: {}", origin_, keyword, form);
  return *line;
}

}  // namespace skein::rlhf::oracle
