// The merges of byte-level BPE, and one word merged by them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pair_map.h"

namespace skein {

class MergeTable {
 public:
  // A usage error naming the first merge that refers to an id not made yet, repeats a pair, or makes a token
  // beyond kLongestToken.
  explicit MergeTable(std::vector<std::pair<int32_t, int32_t>> merges);

  const std::vector<std::pair<int32_t, int32_t>>& merges() const { return merges_; }
  // Bytes and merges, not end-of-text.
  int32_t tokens() const { return 256 + static_cast<int32_t>(merges_.size()); }
  std::string_view bytes_of(int32_t id) const;
  // Merges the ids of a word's bytes in place: the pair of lowest rank first, the leftmost among equals.
  void merge(std::vector<int32_t>& ids) const;

 private:
  void check(size_t rank);
  void lay_out_bytes();
  void merge_short(std::vector<int32_t>& ids) const;
  void merge_long(std::vector<int32_t>& ids) const;

  std::vector<std::pair<int32_t, int32_t>> merges_;
  PairMap ranks_;
  std::vector<uint64_t> starts_;  // of each id in bytes_, and the end
  std::string bytes_;
};

}  // namespace skein
