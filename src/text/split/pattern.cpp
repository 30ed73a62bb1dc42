#include "skein/text/split/pattern.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/text/split/words.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "unicode.h"

namespace skein::text {
namespace {

constexpr uint32_t kMostHeapKilobytes = 1 << 16;
constexpr uint32_t kMostSteps = 100'000'000;
constexpr uint32_t kMostStepsToFind = 10'000'000;
constexpr size_t kLongestPattern = 1 << 16;

struct PcreDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct Pattern::Code {
  std::unique_ptr<pcre2_code, PcreDeleter> code;
  std::unique_ptr<pcre2_match_context, PcreDeleter> context = limited(kMostSteps);
  std::unique_ptr<pcre2_match_context, PcreDeleter> brief_context = limited(kMostStepsToFind);

  static std::unique_ptr<pcre2_match_context, PcreDeleter> limited(uint32_t steps) {
    std::unique_ptr<pcre2_match_context, PcreDeleter> made(pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(made.get(), steps);
    pcre2_set_heap_limit(made.get(), kMostHeapKilobytes);
    return made;
  }

  // As pcre2_match. With more nesting than the compiled form has room for, it is interpreted.
  int match(std::string_view text, size_t at, uint32_t options, pcre2_match_data* found,
            pcre2_match_context* within) const {
    const auto run = [&](uint32_t more) {
      return pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                         PCRE2_NO_UTF_CHECK | options | more, found, within);
    };
    const int count = run(0);
    return count == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_JIT) : count;
  }

  std::unique_ptr<pcre2_match_data, PcreDeleter> match_data() const {
    return std::unique_ptr<pcre2_match_data, PcreDeleter>(
        pcre2_match_data_create_from_pattern(code.get(), nullptr));
  }
};

Pattern::Pattern(std::string expression, Extent extent)
    : expression_(std::move(expression)), code_(std::make_unique<Code>()) {
  require(expression_.size() <= kLongestPattern,
          "a regular expression of {} bytes is too long; {} is the most", expression_.size(),
          kLongestPattern);
  const uint32_t whole = extent == Extent::whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0;
  int error = 0;
  PCRE2_SIZE at = 0;
  code_->code.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression_.data()), expression_.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | whole, &error, &at, nullptr));
  if (code_->code == nullptr)
    fail_usage("the regular expression {} is wrong at byte {}: {}", expression_, at,
               message_of(error));
  pcre2_jit_compile(code_->code.get(), PCRE2_JIT_COMPLETE);
}

Pattern::~Pattern() = default;

void Pattern::divide(std::string_view text, const Part& part) const {
  by_validity(
      text, [&](std::string_view piece) { divide_valid(piece, part); },
      [&](std::string_view piece) { part(piece, false); });
}

void Pattern::divide_valid(std::string_view text, const Part& part) const {
  const auto match = code_->match_data();
  size_t taken = 0, at = 0;
  while (at < text.size()) {
    const int count = code_->match(text, at, PCRE2_NOTEMPTY, match.get(), code_->context.get());
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0)
      fail_usage("the tokenizer's regular expression {} cannot be matched against this text: {}",
                 expression_, message_of(count));
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.get());
    if (bounds[0] > taken) part(text.substr(taken, bounds[0] - taken), false);
    if (bounds[1] > bounds[0]) part(text.substr(bounds[0], bounds[1] - bounds[0]), true);
    taken = at = std::max(bounds[1], at);
  }
  if (taken < text.size()) part(text.substr(taken), false);
}

Pattern::Outcome Pattern::find(std::string_view text) const {
  const std::string valid = with_valid_utf8(text);
  const int count =
      code_->match(valid, 0, 0, code_->match_data().get(), code_->brief_context.get());
  if (count >= 0) return Outcome::yes;
  return count == PCRE2_ERROR_NOMATCH ? Outcome::no : Outcome::too_much_work;
}

}  // namespace skein::text
