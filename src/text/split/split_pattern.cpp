#include "skein/text/split/split_pattern.h"

#include <mutex>
#include <oniguruma.h>

#include "skein/core/error.h"
#include "skein/text/split/words.h"

#include "unicode.h"

namespace skein::text {
namespace {

constexpr size_t kLongestSplitPattern = 1 << 16;
// One match and one search for the next match may try so often; the first is the library's own
// limit.
constexpr unsigned long kMostRetriesOfMatch = 10'000'000;
constexpr unsigned long kMostRetriesOfSearch = 100'000'000;
// Points to come back to, of some 50 bytes each.
constexpr unsigned kMostStacked = 1 << 23;

const OnigUChar* bytes_of(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

// Expressions may be compiled by several threads once the library has its tables.
void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
  });
}

std::string message_of(int error, OnigErrorInfo* info) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int size = onig_error_code_to_str(text, error, info);
  return with_valid_utf8(std::string_view(reinterpret_cast<const char*>(text), size));
}

struct OnigurumaDeleter {
  void operator()(OnigRegexType* regex) const { onig_free(regex); }
  void operator()(OnigMatchParam* limits) const { onig_free_match_param(limits); }
  void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
};

std::unique_ptr<OnigMatchParam, OnigurumaDeleter> limits() {
  std::unique_ptr<OnigMatchParam, OnigurumaDeleter> made(onig_new_match_param());
  onig_initialize_match_param(made.get());
  onig_set_retry_limit_in_match_of_match_param(made.get(), kMostRetriesOfMatch);
  onig_set_retry_limit_in_search_of_match_param(made.get(), kMostRetriesOfSearch);
  onig_set_match_stack_limit_size_of_match_param(made.get(), kMostStacked);
  return made;
}

// Classes to which releases of the library up to 6.9.8 add fewer characters than the reference's:
// symbols such as "$" and superscript digits.
struct ChangedClass {
  const char *spelling, *expression, *sample, *instead;
};

constexpr ChangedClass kChangedClasses[] = {
    {"[:punct:]", "[[:punct:]]", "$", "\\p{P}\\p{S}"},
    {"[:^punct:]", "[[:punct:]]", "$", "^\\p{P}\\p{S}"},
    {"{word}", "\\p{Word}", "\u00b2", "\\w"},
    {"{^word}", "\\p{Word}", "\u00b2", "\\W"},
};

// As the library compares names.
std::string plain_names(std::string_view expression) {
  std::string plain;
  for (const char c : expression)
    if (c != '_' && c != '-' && c != ' ') plain += c >= 'A' && c <= 'Z' ? c | 0x20 : c;
  return plain;
}

bool matches_whole(const char* expression, std::string_view text) {
  const std::string_view given(expression);
  OnigRegex regex = nullptr;
  onig_new(&regex, bytes_of(given), bytes_of(given) + given.size(), ONIG_OPTION_NONE,
           ONIG_ENCODING_UTF8, ONIG_SYNTAX_ONIGURUMA, nullptr);
  const OnigUChar* begin = bytes_of(text);
  const int bytes = onig_match(regex, begin, begin + text.size(), begin, nullptr, ONIG_OPTION_NONE);
  onig_free(regex);
  return bytes == std::ssize(text);
}

void refuse_changed_classes(const std::string& expression) {
  const std::string plain = plain_names(expression);
  for (const ChangedClass& changed : kChangedClasses)
    if (plain.find(changed.spelling) != std::string::npos &&
        !matches_whole(changed.expression, changed.sample))
      fail_usage(
          "the regular expression {} has the class {}, which means fewer characters to this "
          "system's Oniguruma {} than to the reference's ({} is missing); write {} instead",
          expression, changed.spelling, onig_version(), changed.sample, changed.instead);
}

// Where the next match lies; it begins at ONIG_MISMATCH when there is none, and at an error
// otherwise.
struct Match {
  int begin, end;
};

}  // namespace

struct SplitPattern::Compiled {
  std::unique_ptr<OnigRegexType, OnigurumaDeleter> regex;

  Match next(std::string_view text, size_t from, OnigRegion* region, OnigMatchParam* limits) const {
    const OnigUChar *begin = bytes_of(text), *end = begin + text.size();
    const int found = onig_search_with_param(regex.get(), begin, end, begin + from, end, region,
                                             ONIG_OPTION_NONE, limits);
    return found < 0 ? Match{found, found} : Match{region->beg[0], region->end[0]};
  }
};

SplitPattern::SplitPattern(std::string expression)
    : expression_(std::move(expression)), compiled_(std::make_unique<Compiled>()) {
  require(expression_.size() <= kLongestSplitPattern,
          "a regular expression of {} bytes is too long; {} is the most", expression_.size(),
          kLongestSplitPattern);
  initialize();
  refuse_changed_classes(expression_);
  const OnigUChar* begin = bytes_of(expression_);
  OnigErrorInfo info{};
  OnigRegex regex = nullptr;
  const int error = onig_new(&regex, begin, begin + expression_.size(), ONIG_OPTION_NONE,
                             ONIG_ENCODING_UTF8, ONIG_SYNTAX_ONIGURUMA, &info);
  compiled_->regex.reset(error == ONIG_NORMAL ? regex : nullptr);
  if (error != ONIG_NORMAL)
    fail_usage("the regular expression {} is wrong: {}", expression_, message_of(error, &info));
}

SplitPattern::~SplitPattern() = default;

void SplitPattern::divide(std::string_view text, const Part& part) const {
  by_validity(
      text, [&](std::string_view piece) { divide_valid(piece, part); },
      [&](std::string_view piece) { part(piece, false); });
}

// Like the reference, it looks for the next match from the end of the last one, and one character
// further where it finds nothing but an empty match where the last one ended.
void SplitPattern::divide_valid(std::string_view text, const Part& part) const {
  const auto within = limits();
  const std::unique_ptr<OnigRegion, OnigurumaDeleter> region(onig_region_new());
  const auto pass_on = [&](size_t begin, size_t end, bool matched) {
    if (end > begin) part(text.substr(begin, end - begin), matched);
  };
  size_t done = 0;
  bool after_match = false;
  for (size_t from = 0; from <= text.size();) {
    const Match match = compiled_->next(text, from, region.get(), within.get());
    if (match.begin == ONIG_MISMATCH) break;
    if (match.begin < 0)
      fail_usage("the tokenizer's regular expression {} cannot be matched against this text: {}",
                 expression_, message_of(match.begin, nullptr));
    const size_t begin = match.begin, end = match.end;
    SKEIN_CHECK(done <= begin && begin <= end);
    if (begin == end && after_match && end == done) {
      from += from < text.size() ? character_at(text, from).bytes : 1;
      continue;
    }
    pass_on(done, begin, false);
    pass_on(begin, end, true);
    done = from = end;
    after_match = true;
  }
  pass_on(done, text.size(), false);
}

}  // namespace skein::text
