#include "budgets.h"

#include "skein/core/error.h"

namespace skein::scaling::fit {

std::vector<std::vector<int64_t>> budgets_of(std::span<const ScalingPoint> points,
                                             double tolerance) {
  require(tolerance > 0 && tolerance < 1, "fit.budget_tolerance={} must be above 0 and below 1",
          tolerance);
  std::vector<std::vector<int64_t>> budgets;
  double least = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    SKEIN_CHECK(i == 0 || points[i - 1].c <= points[i].c);
    if (i == 0 || points[i].c > least * (1 + tolerance)) {
      budgets.emplace_back();
      least = points[i].c;
    }
    budgets.back().push_back(i);
  }
  return budgets;
}

std::vector<XY> lowest_of_budgets(std::span<const ScalingPoint> points, double tolerance) {
  std::vector<XY> pairs;
  for (const std::vector<int64_t>& members : budgets_of(points, tolerance)) {
    const ScalingPoint* best = &points[members.front()];
    for (const int64_t i : members)
      if (points[i].loss < best->loss) best = &points[i];
    pairs.push_back({best->c, best->loss, 1, std::ssize(pairs)});
  }
  return pairs;
}

}  // namespace skein::scaling::fit
