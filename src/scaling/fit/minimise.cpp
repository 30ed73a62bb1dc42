#include "skein/scaling/fit/minimise.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <limits>

#include "unknowns.h"

namespace skein::scaling::fit {
namespace {

constexpr size_t kHistory = 10;

struct CurvaturePair {
  Unknowns step, change;  // of the point, of the gradient
};

// Minus the gradient times the inverse Hessian that the pairs tell of.
Unknowns descent(const std::deque<CurvaturePair>& pairs, const Unknowns& gradient) {
  Unknowns direction = gradient;
  std::vector<double> parts(pairs.size());
  for (size_t i = pairs.size(); i-- > 0;) {
    parts[i] = dot(pairs[i].step, direction) / dot(pairs[i].step, pairs[i].change);
    direction = along(direction, -parts[i], pairs[i].change);
  }
  const double scale = pairs.empty() ? 1 / std::max(1.0, norm(gradient))
                                     : dot(pairs.back().step, pairs.back().change) /
                                           dot(pairs.back().change, pairs.back().change);
  for (double& one : direction) one *= scale;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const double back = dot(pairs[i].change, direction) / dot(pairs[i].step, pairs[i].change);
    direction = along(direction, parts[i] - back, pairs[i].step);
  }
  for (double& one : direction) one = -one;
  return direction;
}

struct Point {
  Unknowns at{}, gradient{};
  double value = 0;
};

// False where no step along the direction goes down enough.
bool search_line(const Slope& function, const Unknowns& direction, Point& point) {
  const double slope = dot(point.gradient, direction);
  double low = 0, high = std::numeric_limits<double>::infinity(), step = 1;
  Point best = point, tried;
  for (int attempt = 0; attempt < 50; ++attempt) {
    tried.at = along(point.at, step, direction);
    tried.value = function(tried.at, tried.gradient);
    if (!(tried.value <= point.value + 1e-4 * step * slope)) {
      high = step;
    } else {
      if (tried.value < best.value) best = tried;
      if (dot(tried.gradient, direction) >= 0.9 * slope) break;
      low = step;
    }
    step = std::isinf(high) ? 2 * low : (low + high) / 2;
  }
  const bool down = best.value < point.value;
  point = best;
  return down;
}

std::string why_it_stopped(const Minimum& found, double tolerance, bool searched,
                           int most_iterations) {
  if (!found.moved)
    return fmt::format("the optimiser did not leave its start, where the gradient's norm is {:.3g}",
                       found.gradient_norm);
  if (searched)
    return fmt::format("the gradient's norm is {:.3g} after {} steps, above {:.3g}",
                       found.gradient_norm, most_iterations, tolerance);
  return fmt::format("no step went down from a gradient of norm {:.3g}, above {:.3g}",
                     found.gradient_norm, tolerance);
}

}  // namespace

Minimum minimise(const Slope& function, const Unknowns& start, int n, double tolerance,
                 int most_iterations) {
  const Slope first_n = [&](const Unknowns& at, Unknowns& gradient) {
    const double value = function(at, gradient);
    std::fill(gradient.begin() + n, gradient.end(), 0.0);
    return value;
  };
  Minimum found;
  Point point{start, {}, 0};
  point.value = first_n(point.at, point.gradient);
  std::deque<CurvaturePair> pairs;
  bool searched = true;
  for (int i = 0; i < most_iterations && norm(point.gradient) > tolerance; ++i) {
    Unknowns direction = descent(pairs, point.gradient);
    if (!(dot(direction, point.gradient) < 0))
      pairs.clear(), direction = descent(pairs, point.gradient);
    const Point before = point;
    searched = search_line(first_n, direction, point);
    if (!searched && pairs.empty()) break;
    const CurvaturePair pair{along(point.at, -1, before.at),
                             along(point.gradient, -1, before.gradient)};
    if (!searched) pairs.clear();
    if (dot(pair.step, pair.change) >
        1e-12 * std::sqrt(dot(pair.step, pair.step) * dot(pair.change, pair.change)))
      pairs.push_back(pair);
    if (pairs.size() > kHistory) pairs.pop_front();
  }
  found.at = point.at;
  found.value = point.value;
  found.gradient_norm = norm(point.gradient);
  found.moved = point.at != start;
  found.converged = found.gradient_norm <= tolerance && std::isfinite(found.value);
  if (!found.converged) found.problem = why_it_stopped(found, tolerance, searched, most_iterations);
  return found;
}

}  // namespace skein::scaling::fit
