// Rows that are made of a position alone, such as the sines and cosines of its angles: a position
// that many rows have, as those of samples of one batch, is worked out once.
#pragma once

#include <span>

#include "parallel.h"
#include "simd.h"

namespace skein::kernels {

template <class A>
class PositionRows {
 public:
  // fill(position, row): makes the `width` numbers of a position. The rows stand in the calling
  // thread's memory of that slot, until its next use.
  template <class Fill>
  PositionRows(Scratch slot, std::span<const int32_t> positions, int64_t width, const Fill& fill)
      : positions_(positions), width_(width) {
    if (positions.empty()) return;
    const auto [least, most] = std::ranges::minmax(positions);
    const int64_t range = int64_t{most} - least + 1, count = std::ssize(positions);
    least_ = least;
    shared_ = range < count;
    const int64_t made = shared_ ? range : count;
    A* const rows = scratch<A>(slot, made * width);
    rows_ = rows;
    constexpr int64_t kCost = 16;  // of a number, in elements that are read and written
    parallel_ranges(made, row_grain(kCost * width), [&, rows](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        fill(shared_ ? static_cast<int32_t>(least_ + n) : positions[n], rows + n * width);
    });
  }

  // Of positions[n].
  const A* at(int64_t n) const { return rows_ + (shared_ ? positions_[n] - least_ : n) * width_; }

 private:
  std::span<const int32_t> positions_;
  int64_t width_, least_ = 0;
  bool shared_ = false;  // row n is that of position least_ + n, not of positions_[n]
  const A* rows_ = nullptr;
};

}  // namespace skein::kernels
