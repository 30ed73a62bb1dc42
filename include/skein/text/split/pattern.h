// A regular expression (PCRE2) with Unicode properties, run over a whole text.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace skein::text {

class Pattern {
 public:
  enum class Extent { anywhere, whole };
  enum class Outcome { no, yes, too_much_work };

  // whole: only a text from its first to its last byte matches. A usage error quoting the
  // expression when it cannot be compiled.
  explicit Pattern(std::string expression, Extent extent = Extent::anywhere);
  ~Pattern();

  // Calls part(piece, whether it matched) for the matches and what lies between them, in order; end
  // to end they are the text. Bytes that are no valid UTF-8 never match. A usage error when a match
  // takes too much work. Thread-safe.
  void divide(std::string_view text, const std::function<void(std::string_view, bool)>& part) const;

  // Whether it matches the text; a byte that is not part of valid UTF-8 stands for U+FFFD. Gives up
  // after some tenth of a second of backtracking: too_much_work. Thread-safe.
  Outcome find(std::string_view text) const;

 private:
  struct Code;
  using Part = std::function<void(std::string_view, bool)>;

  void divide_valid(std::string_view text, const Part& part) const;

  std::string expression_;
  std::unique_ptr<Code> code_;
};

}  // namespace skein::text
