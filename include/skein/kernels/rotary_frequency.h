// The frequencies of rotary positions, the same on every device.
#pragma once

#include <cmath>
#include <numbers>

#include "skein/kernels/rotary.h"

namespace skein::kernels {

inline double stretched(double frequency, const RotaryWaves& waves) {
  if (waves.scaling == RopeScaling::none) return frequency;
  if (waves.scaling == RopeScaling::linear) return frequency / waves.factor;
  const double fitting = static_cast<double>(waves.context) * frequency /
                         (2 * std::numbers::pi);  // waves in the context
  if (fitting < waves.low) return frequency / waves.factor;
  if (fitting > waves.high) return frequency;
  const double kept = (fitting - waves.low) / (waves.high - waves.low);
  return (1 - kept) * frequency / waves.factor + kept * frequency;
}

// Frequency j of a head of `width`.
inline double rotary_frequency(const RotaryWaves& waves, int64_t j, int64_t width) {
  return stretched(
      std::pow(waves.theta, -2.0 * static_cast<double>(j) / static_cast<double>(width)), waves);
}

}  // namespace skein::kernels
