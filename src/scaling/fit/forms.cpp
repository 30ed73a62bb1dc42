#include "forms.h"

#include <cmath>

#include "design_faults.h"
#include "intervals.h"

namespace skein::scaling::fit {
namespace {

std::vector<double> minus_ln_n(std::span<const ScalingPoint> points) {
  return each(points, [](const ScalingPoint& point) { return -std::log(point.n); });
}
std::vector<double> minus_ln_d(std::span<const ScalingPoint> points) {
  return each(points, [](const ScalingPoint& point) { return -std::log(point.d); });
}

PowerSum sum_of(std::span<const ScalingPoint> points, std::vector<PowerSum::Term> terms,
                std::vector<std::string> slopes) {
  const auto ln_loss = [](const ScalingPoint& point) { return std::log(point.loss); };
  return {std::move(terms), std::move(slopes), -1, each(points, ln_loss),
          std::vector<double>(points.size(), 1.0)};
}

}  // namespace

PowerSum chinchilla_sum(std::span<const ScalingPoint> points) {
  return sum_of(points,
                {power_term("A/N^alpha", 0, minus_ln_n(points)),
                 power_term("B/D^beta", 1, minus_ln_d(points)), constant_term("E", points.size())},
                {"alpha", "beta"});
}

PowerSum equal_slopes_sum(std::span<const ScalingPoint> points) {
  return sum_of(points,
                {power_term("A/N^alpha", 0, minus_ln_n(points)),
                 power_term("B/D^alpha", 0, minus_ln_d(points)), constant_term("E", points.size())},
                {"alpha"});
}

ChinchillaLaw chinchilla_law(const PowerSum& sum, const Unknowns& at) {
  const Unknowns plain = uncentred(sum, at);
  return {std::exp(plain[2]), std::exp(plain[0]), std::exp(plain[1]), plain[3], plain[4]};
}

ChinchillaLaw equal_slopes_law(const PowerSum& sum, const Unknowns& at) {
  const Unknowns plain = uncentred(sum, at);
  return {std::exp(plain[2]), std::exp(plain[0]), std::exp(plain[1]), plain[3], plain[3]};
}

PowerSum kaplan_sum(std::span<const ScalingPoint> points) {
  PowerSum sum = sum_of(
      points,
      {power_term("(Nc/N)^(aN/aD)", 0, minus_ln_n(points)), fixed_term("Dc/D", minus_ln_d(points))},
      {"aN/aD", "aD"});
  sum.multiplier = 1;
  return sum;
}

KaplanLaw kaplan_law(const PowerSum& sum, const Unknowns& at) {
  const Unknowns plain = uncentred(sum, at);
  return {plain[2] * plain[3], plain[3], std::exp(plain[0] / plain[2]), std::exp(plain[1])};
}

PowerSum over_training_sum(std::span<const ScalingPoint> points) {
  auto with = each(points, [](const ScalingPoint& point) {
    return std::log(point.d / point.n) - std::log(point.c);
  });
  auto against = each(points, [](const ScalingPoint& point) {
    return -std::log(point.d / point.n) - std::log(point.c);
  });
  return sum_of(
      points,
      {power_term("a M^h C^-h", 0, std::move(with)),
       power_term("b M^-h C^-h", 0, std::move(against)), constant_term("E", points.size())},
      {"h"});
}

OverTrainingLaw over_training_law(const PowerSum& sum, const Unknowns& at) {
  const Unknowns plain = uncentred(sum, at);
  return {std::exp(plain[2]), std::exp(plain[0]), std::exp(plain[1]), plain[3]};
}

PowerSum offset_sum(std::span<const XY> pairs) {
  auto minus_ln_x = each(pairs, [](const XY& pair) { return -std::log(pair.x); });
  auto ln_y = each(pairs, [](const XY& pair) { return std::log(pair.y); });
  return {{power_term("k x^-p", 0, std::move(minus_ln_x)), constant_term("E", pairs.size())},
          {"p"},
          -1,
          std::move(ln_y),
          each(pairs, &XY::weight)};
}

OffsetPowerLaw offset_law(const PowerSum& sum, const Unknowns& at) {
  const Unknowns plain = uncentred(sum, at);
  return {std::exp(plain[1]), std::exp(plain[0]), plain[2]};
}

Runs runs_of(std::span<const ScalingPoint> points, const ParametricOptions& options) {
  require_resamples(options.resamples);
  require_positive(points);
  std::vector<std::array<double, 4>> rows;
  std::vector<int64_t> clusters;
  for (const ScalingPoint& point : points) {
    rows.push_back({std::isfinite(point.c) ? point.c : 0, point.n, point.d, point.loss});
    clusters.push_back(point.cluster);
  }
  Runs runs{order_rows(rows, clusters), {}};
  runs.points = arranged(points, runs.rows);
  return runs;
}

}  // namespace skein::scaling::fit
