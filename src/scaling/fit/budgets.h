// Runs of one budget.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/scaling/fit/fit.h"

namespace skein::scaling::fit {

// Indices of points, which are sorted by C: those whose C is within `tolerance` (relative) of the
// least of them are of one budget.
std::vector<std::vector<int64_t>> budgets_of(std::span<const ScalingPoint> points,
                                             double tolerance);

// Over C the lowest loss of each budget, each a cluster of its own.
std::vector<XY> lowest_of_budgets(std::span<const ScalingPoint> points, double tolerance);

}  // namespace skein::scaling::fit
