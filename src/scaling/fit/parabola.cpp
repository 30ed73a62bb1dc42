#include "parabola.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace skein::scaling::fit {
namespace {

using Row = std::array<double, 4>;

int distinct(std::span<const Dot> dots) {
  std::vector<double> xs;
  for (const Dot& dot : dots) xs.push_back(dot.x);
  std::sort(xs.begin(), xs.end());
  int count = 0;
  for (size_t i = 0; i < xs.size(); ++i) count += i == 0 || xs[i] - xs[i - 1] > 1e-9;
  return count;
}

// The 3 x 3 system whose rows end in the right-hand side, by elimination with row exchanges.
std::array<double, 3> solve(std::array<Row, 3> rows) {
  for (size_t column = 0; column < 3; ++column) {
    const auto larger = [&](const Row& one, const Row& other) {
      return std::abs(one[column]) < std::abs(other[column]);
    };
    std::swap(rows[column], *std::max_element(rows.begin() + column, rows.end(), larger));
    for (size_t row = 0; row < 3; ++row) {
      if (row == column) continue;
      const double factor = rows[row][column] / rows[column][column];
      for (size_t i = column; i < 4; ++i) rows[row][i] -= factor * rows[column][i];
    }
  }
  return {rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]};
}

// Of y over t = (x - centre) / half_width.
std::array<double, 3> coefficients(std::span<const Dot> dots, double centre, double half_width) {
  std::array<Row, 3> rows{};
  for (const Dot& dot : dots) {
    const double t = (dot.x - centre) / half_width;
    const std::array<double, 3> powers = {1, t, t * t};
    for (size_t row = 0; row < 3; ++row) {
      for (size_t column = 0; column < 3; ++column)
        rows[row][column] += powers[row] * powers[column];
      rows[row][3] += powers[row] * dot.y;
    }
  }
  return solve(rows);
}

}  // namespace

Parabola fit_parabola(std::span<const Dot> dots) {
  Parabola fit;
  const auto [low, high] = std::ranges::minmax_element(dots, {}, &Dot::x);
  if (low == dots.end()) return fit.problem = "no runs", fit;
  fit.centre = (low->x + high->x) / 2;
  fit.half_width = (high->x - low->x) / 2;
  if (const int sizes = distinct(dots); sizes < 3)
    return fit.problem = sizes == 2 ? "two sizes" : "one size", fit;
  const auto [c0, c1, c2] = coefficients(dots, fit.centre, fit.half_width);
  fit.curvature = 2 * c2 / (fit.half_width * fit.half_width);
  if (!(std::abs(c2) > 1e-12 * std::abs(c0)))
    return fit.problem = "the same loss at all sizes", fit;
  if (c2 < 0) return fit.problem = "concave", fit;
  const double t = -c1 / (2 * c2);
  fit.x = fit.centre + t * fit.half_width;
  fit.y = c0 - c1 * c1 / (4 * c2);
  if (!(std::abs(t) < 1))
    fit.problem = t > 0 ? "minimum beyond the largest size" : "minimum below the smallest size";
  return fit;
}

}  // namespace skein::scaling::fit
