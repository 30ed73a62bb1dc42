// Numbers as messages show them.
#pragma once

#include <cmath>
#include <limits>

namespace skein {

// x, but a NaN without a sign: which one it has hangs on the instruction that made it, and "-nan"
// tells nobody anything.
inline double shown_number(double x) {
  return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x;
}

}  // namespace skein
