#include "design_faults.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"

namespace skein::scaling::fit {
namespace {

constexpr double kOneValue = 0.05, kOneBudget = 0.1;  // of logarithms that count as one
constexpr double kLine = 0.03;  // root mean square distance of ln D from a line
constexpr double kSameGroup = 0.01;

template <class Of>
std::vector<double> logs(std::span<const ScalingPoint> points, const Of& of) {
  std::vector<double> made;
  for (const ScalingPoint& point : points) made.push_back(std::log(of(point)));
  std::sort(made.begin(), made.end());
  return made;
}

double width(const std::vector<double>& sorted) { return sorted.back() - sorted.front(); }
double middle(const std::vector<double>& sorted) {
  return std::exp((sorted.back() + sorted.front()) / 2);
}

size_t groups(const std::vector<double>& sorted) {
  size_t count = 0;
  double first = -1e300;
  for (double one : sorted) {
    if (one <= first + kSameGroup) continue;
    ++count;
    first = one;
  }
  return count;
}

// How far ln D lies from the best line over ln N.
double distance_from_line(std::span<const ScalingPoint> points) {
  const double count = points.size();
  double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (const ScalingPoint& point : points)
    x += std::log(point.n) / count, y += std::log(point.d) / count;
  for (const ScalingPoint& point : points) {
    const double dx = std::log(point.n) - x, dy = std::log(point.d) - y;
    xx += dx * dx / count, xy += dx * dy / count, yy += dy * dy / count;
  }
  return std::sqrt(std::max(0.0, yy - xy * xy / xx));
}

}  // namespace

void require_positive(std::span<const ScalingPoint> points) {
  for (const ScalingPoint& point : points) {
    for (const auto& [value, what] :
         {std::pair{point.n, "N"}, {point.d, "D"}, {point.loss, "loss"}})
      require(value > 0 && std::isfinite(value),
              "run {} has {} = {}; N, D and the loss of a run that is fitted must be positive and "
              "finite (N {}, D {}, loss {})",
              point.run + 1, what, value, point.n, point.d, point.loss);
  }
}

void require_varied_loss(std::span<const ScalingPoint> points) {
  const auto loss = logs(points, [](const ScalingPoint& point) { return point.loss; });
  require(width(loss) > 1e-9, "all {} runs have the loss {:.6g}: a constant loss fits no law",
          points.size(), middle(loss));
}

void require_sizes_and_tokens(std::span<const ScalingPoint> points, const DesignFault& what) {
  const auto n = logs(points, [](const ScalingPoint& point) { return point.n; });
  const auto d = logs(points, [](const ScalingPoint& point) { return point.d; });
  require(width(n) > kOneValue,
          "one size only: all {} runs have N = {:.4g}, so the design cannot separate {}; train "
          "other sizes",
          points.size(), middle(n), what.of_one_size);
  require(width(d) > kOneValue,
          "one D only: all {} runs saw {:.4g} tokens, so the design cannot separate {}; train some "
          "sizes on other numbers of tokens",
          points.size(), middle(d), what.of_one_d);
}

void require_no_line(std::span<const ScalingPoint> points, const DesignFault& what) {
  require(distance_from_line(points) > kLine,
          "D is a power of N in all {} runs, so the design cannot separate {}; train some sizes on "
          "more or fewer tokens",
          points.size(), what.of_a_line);
}

void require_ratios_and_budgets(std::span<const ScalingPoint> points) {
  const auto ratio = logs(points, [](const ScalingPoint& point) { return point.d / point.n; });
  const auto budget = logs(points, [](const ScalingPoint& point) { return point.c; });
  require(width(ratio) > kOneValue,
          "one ratio only: all {} runs have D/N = {:.4g}, so the design cannot separate a M^h from "
          "b M^-h; train some sizes on more or fewer tokens",
          points.size(), middle(ratio));
  require(width(budget) > kOneBudget,
          "one budget only: all {} runs have C = {:.4g}, so the design does not show how the loss "
          "falls with C; train at other budgets",
          points.size(), middle(budget));
}

void require_determined(std::span<const ScalingPoint> points, size_t clusters) {
  constexpr const char* kLaw = "E + A/N^alpha + B/D^beta";
  require(
      points.size() >= kLeastRuns,
      "too few points: {} has 5 unknowns and needs at least {} different runs, and there are {}",
      kLaw, kLeastRuns, points.size());
  require(clusters >= kLeastRuns,
          "too few runs: intervals for {} need at least {} runs to resample, and the {} points "
          "come from {}; give fit.resamples 0 for none",
          kLaw, kLeastRuns, points.size(), clusters);
  require_varied_loss(points);
  constexpr DesignFault kWhat{"A/N^alpha from E", "alpha from beta, nor B/D^beta from E",
                              "alpha from beta"};
  require_sizes_and_tokens(points, kWhat);
  const auto ratio = logs(points, [](const ScalingPoint& point) { return point.d / point.n; });
  const auto budget = logs(points, [](const ScalingPoint& point) { return point.n * point.d; });
  require(width(ratio) > kOneValue,
          "one ratio only: all {} runs have D/N = {:.4g}, so N and D rise together and the design "
          "cannot separate alpha from beta; train some sizes on more or fewer tokens",
          points.size(), middle(ratio));
  require(width(budget) > kOneBudget,
          "one budget only: all {} runs have N D = {:.4g}, so D follows from N and the design "
          "cannot separate alpha from beta; train at other budgets",
          points.size(), middle(budget));
  const auto n = logs(points, [](const ScalingPoint& point) { return point.n; });
  const auto d = logs(points, [](const ScalingPoint& point) { return point.d; });
  require(groups(n) >= 3, "{} sizes only: A, alpha and E need at least 3", groups(n));
  require(groups(d) >= 3, "{} numbers of tokens only: B, beta and E need at least 3", groups(d));
  require_no_line(points, kWhat);
}

}  // namespace skein::scaling::fit
