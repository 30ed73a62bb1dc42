// A regular expression with Unicode properties, run over a whole text.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace skein {

class Pattern {
 public:
  // A usage error quoting the expression when it cannot be compiled.
  explicit Pattern(std::string expression);
  ~Pattern();

  // Calls part(piece, whether it matched) for the matches and what lies between them, in order; end to end
  // they are the text. Bytes that are no valid UTF-8 never match. A usage error when a match takes too much
  // work. Thread-safe.
  void divide(std::string_view text, const std::function<void(std::string_view, bool)>& part) const;

 private:
  struct Code;
  using Part = std::function<void(std::string_view, bool)>;

  void divide_valid(std::string_view text, const Part& part) const;

  std::string expression_;
  std::unique_ptr<Code> code_;
};

}  // namespace skein
