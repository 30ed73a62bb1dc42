// Warnings that may come again at every step of a long run: the first ten of a kind are told, the
// others counted.
//
//   RepeatedWarnings warnings;
//   warnings.tell("answers that are cut", "38 of 64 answers were cut at ...");  // now and then
//   warnings.finish();  // counts the rest; so does its end, when a run fails too
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace skein {

class RepeatedWarnings {
 public:
  static constexpr int64_t kTold = 10;

  RepeatedWarnings() = default;
  ~RepeatedWarnings() { finish(); }
  RepeatedWarnings(const RepeatedWarnings&) = delete;
  RepeatedWarnings& operator=(const RepeatedWarnings&) = delete;

  // kind: what such warnings are of, for finish().
  void tell(const std::string& kind, const std::string& text);
  // A line for each kind of which some were not told, in the order of their first ones. Counts
  // begin anew then.
  void finish();

 private:
  std::vector<std::pair<std::string, int64_t>> counts_;
};

}  // namespace skein
