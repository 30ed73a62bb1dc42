// What options of models may be. Internal to models.
#pragma once

#include <cstdint>
#include <string_view>

#include "skein/core/error.h"

namespace skein {

// A usage error for a value of the option `key` that is out of [least, most].
inline void check_range(std::string_view key, int64_t value, int64_t least, int64_t most) {
  require(value >= least && value <= most, "{} is {}; it must be from {} to {}", key, value, least,
          most);
}

}  // namespace skein
