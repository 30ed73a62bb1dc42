// Strings of bytes with a value each, and the longest of them that a text begins with.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "skein/core/numbers.h"

#include "pair_map.h"

namespace skein::text {

class ByteTrie {
 public:
  static constexpr int32_t kRoot = 0;
  struct Match {
    int32_t value = -1;  // -1: none
    size_t bytes = 0;
  };

  // Replaces a value that was there.
  void insert(std::string_view bytes, int32_t value) {
    int32_t node = kRoot;
    for (const char byte : bytes) {
      const auto [next, made] = edges_.insert(edge(node, byte), narrow<int32_t>(values_.size()));
      if (made) values_.push_back(-1);
      node = next;
    }
    values_[node] = value;
  }

  // The node that `bytes` lead to, -1 if none begins so.
  int32_t walk(std::string_view bytes) const {
    int32_t node = kRoot;
    for (const char byte : bytes) {
      node = edges_.find(edge(node, byte));
      if (node < 0) return -1;
    }
    return node;
  }

  // The longest string that `text` begins with, of those that go on from `node`; never the empty
  // one.
  Match longest(std::string_view text, int32_t node = kRoot) const {
    Match best;
    for (size_t at = 0; at < text.size(); ++at) {
      node = edges_.find(edge(node, text[at]));
      if (node < 0) break;
      if (values_[node] >= 0) best = {values_[node], at + 1};
    }
    return best;
  }

 private:
  static uint64_t edge(int32_t node, unsigned char byte) { return pair_key(node, byte); }

  PairMap edges_;
  std::vector<int32_t> values_{-1};
};

}  // namespace skein::text
