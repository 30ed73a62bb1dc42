// What options of models may be. Internal to models.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "skein/core/error.h"

namespace skein {

// Thousands of times what any model has, and so few that no product of sizes leaves 64 bits: a
// configuration may come from anywhere. Token ids and positions are numbers of 32 bits.
constexpr int64_t kMostIds = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostLayers = 10'000, kMostWidth = int64_t{1} << 20,
                  kMostHidden = int64_t{1} << 24;
constexpr int64_t kMostHeadWidths = int64_t{1} << 22;  // of all heads together

// A usage error for a value of the option `key` that is out of [least, most].
inline void check_range(std::string_view key, int64_t value, int64_t least, int64_t most) {
  require(value >= least && value <= most, "{} is {}; it must be from {} to {}", key, value, least,
          most);
}

}  // namespace skein
