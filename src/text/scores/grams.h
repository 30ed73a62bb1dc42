// The n-grams of some sequences, as numbers: equal n-grams have equal numbers.
//
// The n-gram at a place is the pair of the (n-1)-gram there and the symbol behind it. Pairs get
// numbers in the order in which they are met, so that counts are arrays and nothing is compared
// but two numbers, however long an n-gram is.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace skein::text {

using Symbols = std::vector<uint32_t>;

// Numbers words: equal ones equally.
class WordNumbers {
 public:
  Symbols of(std::span<const std::string_view> words);

 private:
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

class Grams {
 public:
  // Begins with the symbols themselves.
  explicit Grams(std::vector<Symbols> sequences);
  // From n-grams to those of one symbol more.
  void lengthen();

  // The n-grams of a sequence in order.
  std::span<const uint32_t> of(size_t sequence) const { return grams_[sequence]; }
  // How often each n-gram occurs in a sequence.
  std::vector<int64_t> counts(size_t sequence) const;

 private:
  void number_pairs();

  std::vector<Symbols> symbols_, grams_;
  uint32_t distinct_ = 0;
  size_t order_ = 1;
  struct Slot {
    uint64_t pair = 0;
    uint32_t number = 0;
    uint32_t round = 0;  // the order at which it was taken; free at others
  };
  std::vector<Slot> slots_;  // a hash table, a power of two
};

// How many n-grams of one are also in the other, each as often as in the rarer.
int64_t common(std::span<const int64_t> counts, std::span<const int64_t> others);

}  // namespace skein::text
