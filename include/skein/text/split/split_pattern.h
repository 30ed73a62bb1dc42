// The regular expression of a Split in tokenizer.json. The reference runs it by Oniguruma in that
// library's own syntax and so do we: other engines take the same signs for other things ("&&",
// "{1,3}+", "^", "\h").
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace skein::text {

class SplitPattern {
 public:
  using Part = std::function<void(std::string_view, bool)>;

  // A usage error quoting the expression when it cannot be compiled.
  explicit SplitPattern(std::string expression);
  ~SplitPattern();

  // Calls part(piece, whether it matched) for the matches and what lies between them, in order; no
  // piece is empty, and end to end they are the text. An empty match divides the text where it
  // stands. Bytes that are no valid UTF-8 never match. A usage error when a match takes too much
  // work. Thread-safe.
  void divide(std::string_view text, const Part& part) const;

 private:
  struct Compiled;

  void divide_valid(std::string_view text, const Part& part) const;

  std::string expression_;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace skein::text
