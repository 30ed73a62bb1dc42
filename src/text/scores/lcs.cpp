// Hyyro, "Bit-parallel LCS-length computation revisited" (2004). The table has L(i, j), the length
// for the first i symbols of one and the first j of the other. A row is a bit for each j: 0 where
// L(i, j) is above L(i, j - 1), so L(i, j) is the number of zeros among the row's first j bits.
#include "lcs.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "skein/core/error.h"

namespace skein::text {
namespace {

using Bits = std::vector<uint64_t>;

constexpr int64_t kMostBits = int64_t{1} << 34;

size_t words_of(size_t bits) { return (bits + 63) / 64; }

// Makes rows one after the other.
class Rows {
 public:
  explicit Rows(std::span<const uint32_t> second)
      : row_(words_of(second.size()), ~uint64_t{0}), matches_(row_.size()) {
    for (size_t j = 0; j < second.size(); ++j) places_.emplace_back(second[j], j);
    std::ranges::sort(places_);
  }

  // The row of one symbol more.
  const Bits& next(uint32_t symbol) {
    const auto same =
        std::ranges::equal_range(places_, symbol, {}, &std::pair<uint32_t, size_t>::first);
    if (same.empty()) return row_;
    for (const auto& [_, j] : same) matches_[j / 64] |= uint64_t{1} << j % 64;
    uint64_t carry = 0;
    for (size_t w = 0; w < row_.size(); ++w) {
      const uint64_t old = row_[w], hit = old & matches_[w];
      uint64_t sum = 0;
      const bool over = __builtin_add_overflow(old, hit, &sum);
      const bool over_by_carry = __builtin_add_overflow(sum, carry, &sum);
      carry = over || over_by_carry;
      row_[w] = sum | (old & ~matches_[w]);
    }
    for (const auto& [_, j] : same) matches_[j / 64] = 0;
    return row_;
  }

 private:
  Bits row_, matches_;
  std::vector<std::pair<uint32_t, size_t>> places_;  // symbols and where they stand, sorted
};

// Zeros among the first `bits` bits.
int64_t zeros(std::span<const uint64_t> row, size_t bits) {
  int64_t count = 0;
  for (size_t w = 0; w < bits / 64; ++w) count += 64 - std::popcount(row[w]);
  const size_t rest = bits % 64;
  if (rest > 0) count += std::popcount(~row[bits / 64] & (~uint64_t{0} >> (64 - rest)));
  return count;
}

// The table from its last row to its first.
class Table {
 public:
  Table(std::span<const uint32_t> first, std::span<const uint32_t> second)
      : words_(words_of(second.size())), rows_(words_, ~uint64_t{0}) {
    Rows rows(second);
    rows_.reserve(words_ * (first.size() + 1));
    for (const uint32_t symbol : first) {
      const Bits& row = rows.next(symbol);
      rows_.insert(rows_.end(), row.begin(), row.end());
    }
  }

  std::span<const uint64_t> row(size_t i) const {
    return std::span(rows_).subspan(i * words_, words_);
  }
  // L(i, j) - L(i, j - 1).
  int64_t step(size_t i, size_t j) const { return ~row(i)[(j - 1) / 64] >> (j - 1) % 64 & 1; }

 private:
  size_t words_;
  Bits rows_;
};

}  // namespace

int64_t lcs_length(std::span<const uint32_t> first, std::span<const uint32_t> second) {
  Rows rows(second);
  const Bits* last = nullptr;
  for (const uint32_t symbol : first) last = &rows.next(symbol);
  return last ? zeros(*last, second.size()) : 0;
}

std::vector<int64_t> lcs_places(std::span<const uint32_t> first, std::span<const uint32_t> second) {
  require(std::ssize(second) == 0 || std::ssize(first) < kMostBits / std::ssize(second),
          "two lines of {} and {} words are too long to be compared as sentences; divide them into "
          "lines, or leave rouge out of the metrics",
          first.size(), second.size());
  const Table table(first, second);
  std::vector<int64_t> places;
  size_t i = first.size(), j = second.size();
  // L(i, j) and L(i - 1, j).
  int64_t here = zeros(table.row(i), j), above = i > 0 ? zeros(table.row(i - 1), j) : 0;
  const auto go_up = [&] {
    --i;
    here = above;
    above = i > 0 ? zeros(table.row(i - 1), j) : 0;
  };
  const auto go_left = [&] {
    here -= table.step(i, j);
    above -= table.step(i - 1, j);
    --j;
  };
  while (i > 0 && j > 0) {
    if (first[i - 1] == second[j - 1]) {
      places.push_back(static_cast<int64_t>(i) - 1);
      go_left();
      go_up();
    } else if (here - table.step(i, j) > above) {
      go_left();
    } else {
      go_up();
    }
  }
  std::ranges::reverse(places);
  return places;
}

}  // namespace skein::text
