// Intervals of what was computed again from resampled runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/scaling/fit/fit.h"

namespace skein {

// 2.5% and 97.5% of the draws and their standard deviation; unknown where fewer than half of
// `asked` are there.
Interval interval_over(double value, std::vector<double> draws, int64_t asked);
// Number `index` of resample `resample`: one of 0 ... count - 1.
size_t drawn(uint64_t key, int64_t resample, uint64_t index, size_t count);
// ln y on ln x by least squares.
PowerLaw power_through(std::span<const XY> pairs);
// A power law of bootstrapped draws.
PowerFit power_fit(const PowerLaw& law, std::vector<PowerLaw> draws, int64_t asked);
// E + k x^-p with draws from resampled pairs; for pairs that have no such law, its convergence says
// why.
OffsetPowerFit offset_through(std::span<const XY> pairs, std::span<const std::vector<XY>> resampled,
                              int threads);
// y = coefficient x^exponent at x, over the draws.
Interval at(const PowerFit& fit, double x, int64_t asked);
// y = E + k x^-p at x, over the draws.
Interval at(const OffsetPowerFit& fit, double x, int64_t asked);

}  // namespace skein
