// Means over samples as sums of whole numbers. A share in [0, 1] is two of them, its first 31
// binary places and the next 31, so that a sum of shares has the same bits in any order. Sums of
// 2^32 samples fit.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace skein::text {

constexpr size_t kShareNumbers = 2;

inline void add_share(double share, std::span<int64_t> sums) {
  const double high = std::floor(share * 0x1p31);
  sums[0] += static_cast<int64_t>(high);
  sums[1] += std::llround((share * 0x1p31 - high) * 0x1p31);
}

inline double sum_of_shares(std::span<const int64_t> sums) {
  return static_cast<double>(sums[0]) * 0x1p-31 + static_cast<double>(sums[1]) * 0x1p-62;
}

// In per cent; 0 of no samples.
inline double mean_share(std::span<const int64_t> sums, int64_t samples) {
  return samples > 0 ? 100 * sum_of_shares(sums) / static_cast<double>(samples) : 0;
}

}  // namespace skein::text
