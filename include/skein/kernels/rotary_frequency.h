// The frequencies of rotary positions, the same on every device.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "skein/kernels/rotary.h"

namespace skein::kernels {

// How much of frequency j of R/2 stays as it is under yarn; the rest is divided by the factor.
inline double kept_by_yarn(const RotaryWaves& waves, int64_t j, int64_t width) {
  // The j, no whole number, whose waves fit so many times into the context.
  const auto place = [&](double fitting) {
    return static_cast<double>(width) *
           std::log(static_cast<double>(waves.context) / (fitting * 2 * std::numbers::pi)) /
           (2 * std::log(waves.theta));
  };
  const double first = std::max(std::floor(place(waves.high)), 0.0),
               last = std::min(std::ceil(place(waves.low)), static_cast<double>(width - 1)),
               span = first == last ? 0.001 : last - first;
  return 1 - std::clamp((static_cast<double>(j) - first) / span, 0.0, 1.0);
}

inline double kept_by_llama3(const RotaryWaves& waves, double frequency) {
  const double fitting = static_cast<double>(waves.context) * frequency /
                         (2 * std::numbers::pi);  // waves in the context
  if (fitting < waves.low) return 0;
  if (fitting > waves.high) return 1;
  return (fitting - waves.low) / (waves.high - waves.low);
}

// Frequency j of a head of which `width` numbers turn.
inline double rotary_frequency(const RotaryWaves& waves, int64_t j, int64_t width) {
  const double frequency =
      std::pow(waves.theta, -2.0 * static_cast<double>(j) / static_cast<double>(width));
  if (waves.scaling == RopeScaling::none) return frequency;
  if (waves.scaling == RopeScaling::linear) return frequency / waves.factor;
  if (waves.scaling == RopeScaling::longrope)
    return frequency / waves.factors[static_cast<size_t>(j)];
  const double kept = waves.scaling == RopeScaling::yarn ? kept_by_yarn(waves, j, width)
                                                         : kept_by_llama3(waves, frequency);
  if (kept == 0 || kept == 1) return kept == 1 ? frequency : frequency / waves.factor;
  return (1 - kept) * frequency / waves.factor + kept * frequency;
}

}  // namespace skein::kernels
