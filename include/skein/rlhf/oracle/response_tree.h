// All responses over a small alphabet, numbered. A response has at most T tokens, the end token
// being one of them: a string of n < T symbols and the end token, or T symbols without it, which
// was cut.
//
//   const ResponseTree responses(3, 5);
//   for (int64_t i = 0; i < responses.size(); ++i)
//     use(responses.symbols_of(i), responses.ended(i));
//
// Numbers go by length and, within a length, by symbols, the first one changing slowest: 0 is the
// empty response (the end token alone), 1 to k have one symbol. So they are the nodes of a complete
// k-ary tree, level by level, and a number below prefixes() stands for two things: the response
// that ends here, and the beginning that all responses of its subtree share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/core/numbers.h"

namespace skein::rlhf::oracle {

class ResponseTree {
 public:
  // alphabet, length (T): at least 1. Together at most 2^40 responses.
  ResponseTree(int64_t alphabet, int64_t length);
  // How many responses there would be; never overflows.
  static double count(int64_t alphabet, int64_t length);

  int64_t alphabet() const { return alphabet_; }
  int64_t length() const { return std::ssize(levels_) - 2; }
  int64_t size() const { return levels_.back(); }
  // Beginnings that may go on: those of fewer than T symbols.
  int64_t prefixes() const { return levels_[levels_.size() - 2]; }
  bool ended(int64_t response) const { return response < prefixes(); }
  int64_t symbols_in(int64_t response) const;
  // In tokens: the symbols, and the end token where it ended.
  int64_t tokens_in(int64_t response) const {
    return symbols_in(response) + (ended(response) ? 1 : 0);
  }

  int64_t child(int64_t prefix, int64_t symbol) const { return prefix * alphabet_ + 1 + symbol; }
  int64_t parent(int64_t response) const { return (response - 1) / alphabet_; }
  int32_t last_symbol(int64_t response) const {
    return narrow<int32_t>((response - 1) % alphabet_);
  }
  std::vector<int32_t> symbols_of(int64_t response) const;
  // The number of these symbols, at most T, each in [0, alphabet).
  int64_t find(std::span<const int32_t> symbols) const;

 private:
  int64_t alphabet_;
  std::vector<int64_t> levels_;
};

}  // namespace skein::rlhf::oracle
