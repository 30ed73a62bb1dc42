// What byte-pair encoding learns from counted words, whatever their symbols are.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "text/models/pair_map.h"

namespace skein::text {

class MergeLearner {
 public:
  // `lengths`: the bytes of each of the first symbols, by id.
  explicit MergeLearner(std::vector<uint64_t> lengths) : lengths_(std::move(lengths)) {}

  void add_word(std::span<const int32_t> symbols, int64_t count);

  // Merges the most frequent pair of neighbours, ties going to the lowest (left id, right id),
  // while room() and some pair occurs min_frequency times; make(left, right) says the id of what it
  // becomes, one that no word holds yet. Tokens beyond kLongestToken are not made. The pairs in the
  // order they were merged.
  std::vector<std::pair<int32_t, int32_t>> learn(
      int64_t min_frequency, const std::function<bool()>& room,
      const std::function<int32_t(int32_t, int32_t)>& make);

 private:
  struct Word {
    uint64_t begin;
    uint32_t length;
    int64_t count;
  };

  struct Pair {
    int32_t left, right;
    int64_t count = 0;
    // that held it when it was made; each once, some hold it no more
    std::vector<uint32_t> words{};
  };

  // Counts of existing pairs only fall, so a heap entry never promises too little: one that
  // promises too much is put back with the count of now.
  struct Candidate {
    int64_t count;
    int32_t left, right;
    int32_t pair;

    bool operator<(const Candidate& other) const {
      if (count != other.count) return count < other.count;
      return std::pair(left, right) > std::pair(other.left, other.right);
    }
  };

  uint64_t length(int32_t id) const { return lengths_[id]; }
  void count_pairs();
  void change(int32_t left, int32_t right, int64_t by, uint32_t word);
  void offer_from(size_t first);
  int32_t take_best(int64_t min_frequency);
  void apply(int32_t index, int32_t made);
  void rewrite(uint32_t index, int32_t left, int32_t right, int32_t made);

  std::vector<int32_t> symbols_;
  std::vector<Word> words_;
  std::vector<Pair> pairs_;
  std::vector<uint64_t> lengths_;
  PairMap known_;
  std::priority_queue<Candidate> heap_;
};

}  // namespace skein::text
