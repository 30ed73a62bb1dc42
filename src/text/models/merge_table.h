// Merges of byte pairs, and one word merged by them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/core/numbers.h"

#include "pair_map.h"

namespace skein::text {

// Merges the ids of a word, whatever ids they are.
class PairMerger {
 public:
  // False, without effect, when the pair is known already.
  bool add(int32_t left, int32_t right, int32_t rank, int32_t made);
  // Of a pair, -1 if it is never merged.
  int32_t rank(int32_t left, int32_t right) const { return ranks_.find(pair_key(left, right)); }
  int32_t made(int32_t rank) const { return made_[rank]; }
  // In place: the pair of lowest rank first, the leftmost among equals.
  void merge(std::vector<int32_t>& ids) const;

 private:
  void merge_short(std::vector<int32_t>& ids) const;
  void merge_long(std::vector<int32_t>& ids) const;

  PairMap ranks_;
  std::vector<int32_t> made_;  // by rank
};

class MergeTable {
 public:
  // A usage error naming the first merge that refers to an id not made yet, repeats a pair, or
  // makes a token beyond kLongestToken.
  explicit MergeTable(std::vector<std::pair<int32_t, int32_t>> merges);

  const std::vector<std::pair<int32_t, int32_t>>& merges() const { return merges_; }
  // Bytes and merges, not end-of-text.
  int32_t tokens() const { return 256 + narrow<int32_t>(merges_.size()); }
  std::string_view bytes_of(int32_t id) const;
  void merge(std::vector<int32_t>& ids) const { merger_.merge(ids); }

 private:
  void check(size_t rank);
  void lay_out_bytes();

  std::vector<std::pair<int32_t, int32_t>> merges_;
  PairMerger merger_;
  std::vector<uint64_t> starts_;  // of each id in bytes_, and the end
  std::string bytes_;
};

}  // namespace skein::text
