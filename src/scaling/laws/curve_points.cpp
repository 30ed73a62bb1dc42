#include <algorithm>
#include <cmath>
#include <set>

#include "skein/scaling/laws/results.h"

namespace skein::scaling {
namespace {

// Indices of the points that lie nearest to evenly spaced ln tokens, from the first to before `end`
// tokens.
std::set<size_t> chosen(const std::vector<CurvePoint>& curve, double end, int64_t count) {
  std::set<size_t> indices;
  const auto before = std::find_if(curve.begin(), curve.end(), [&](const CurvePoint& point) {
    return point.tokens >= end * (1 - 1e-9);
  });
  const size_t usable = before - curve.begin();
  if (usable == 0) return indices;
  const double first = std::log(curve.front().tokens), step = (std::log(end) - first) / count;
  for (int64_t i = 0; i < count; ++i) {
    const double wanted = first + step * i;
    size_t nearest = 0;
    for (size_t k = 1; k < usable; ++k)
      if (std::abs(std::log(curve[k].tokens) - wanted) <
          std::abs(std::log(curve[nearest].tokens) - wanted))
        nearest = k;
    indices.insert(nearest);
  }
  return indices;
}

}  // namespace

std::vector<ScalingPoint> curve_points_of(const ScalingTable& table,
                                          const std::vector<ScalingPoint>& points,
                                          int64_t of_each) {
  std::vector<ScalingPoint> made;
  for (const ScalingPoint& end : points) {
    const std::vector<CurvePoint>& curve = table.runs[end.run].curve;
    for (const size_t i : chosen(curve, end.d, of_each)) {
      ScalingPoint point = end;
      point.d = curve[i].tokens;
      point.c = end.c * (point.d / end.d);
      point.loss = curve[i].loss;
      made.push_back(point);
    }
  }
  return made;
}

}  // namespace skein::scaling
