// Statements of a language file, and the numbers in them. Usage errors begin with file:line.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "skein/core/error.h"

namespace skein::rlhf::oracle {

// A user's word as messages show it.
std::string shown_word(const std::string& word);

struct OracleLine {
  std::string where;                 // "palindrome.txt:12"
  std::vector<std::string> words{};  // the first says what the others are; at least one

  const std::string& keyword() const { return words.front(); }
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    fail_usage("{}: {}", where, fmt::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  void require_that(bool ok, fmt::format_string<Args...> text, Args&&... args) const {
    if (!ok) refuse(text, std::forward<Args>(args)...);
  }
  // `words`: how many stand behind the keyword; `form`: an example of a right line.
  void require_words(size_t least, size_t most, const std::string& form) const;
  // A finite number: 0.25, 1e-3 or 1/4. `what` names it in messages.
  double number(const std::string& word, const std::string& what) const;
  double number_within(const std::string& word, const std::string& what, double least,
                       double most) const;
  int64_t whole(const std::string& word, const std::string& what, int64_t least,
                int64_t most) const;
};

// Without comments and blank lines, in order.
std::vector<OracleLine> oracle_lines(const std::string& text, const std::string& origin);

// The lines of a file by keyword.
class OracleLines {
 public:
  OracleLines(const std::string& text, const std::string& origin)
      : origin_(origin), lines_(oracle_lines(text, origin)) {}

  const std::vector<OracleLine>& all() const { return lines_; }
  const std::string& origin() const { return origin_; }
  std::vector<const OracleLine*> named(const std::string& keyword) const;
  // The one line of that keyword, null where there is none; a usage error naming both where there
  // are two.
  const OracleLine* one(const std::string& keyword) const;
  // A usage error showing `form` where there is none.
  const OracleLine& needed(const std::string& keyword, const std::string& form) const;

 private:
  std::string origin_;
  std::vector<OracleLine> lines_;
};

}  // namespace skein::rlhf::oracle
