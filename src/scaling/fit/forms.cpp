#include "forms.h"

#include <cmath>

#include "design_faults.h"

namespace skein {
namespace {

template <class Item, class Of>
std::vector<double> each(std::span<const Item> items, const Of& of) {
  std::vector<double> made;
  for (const Item& item : items) made.push_back(of(item));
  return made;
}

std::vector<double> minus_ln_n(std::span<const ScalingPoint> points) {
  return each(points, [](const ScalingPoint& point) { return -std::log(point.n); });
}
std::vector<double> minus_ln_d(std::span<const ScalingPoint> points) {
  return each(points, [](const ScalingPoint& point) { return -std::log(point.d); });
}

PowerSum empty_sum(std::span<const ScalingPoint> points) {
  PowerSum sum;
  sum.ln_loss = each(points, [](const ScalingPoint& point) { return std::log(point.loss); });
  sum.weight.assign(points.size(), 1.0);
  return sum;
}

}  // namespace

PowerSum chinchilla_sum(std::span<const ScalingPoint> points) {
  PowerSum sum = empty_sum(points);
  sum.terms = {power_term("A/N^alpha", 0, minus_ln_n(points)),
               power_term("B/D^beta", 1, minus_ln_d(points)), constant_term("E", points.size())};
  sum.slopes = {"alpha", "beta"};
  return sum;
}

ChinchillaLaw chinchilla_law(const PowerSum& sum, const Unknowns& at) {
  const Unknowns plain = uncentred(sum, at);
  return {std::exp(plain[2]), std::exp(plain[0]), std::exp(plain[1]), plain[3], plain[4]};
}

PowerSum equal_slopes_sum(std::span<const ScalingPoint> points) {
  PowerSum sum = empty_sum(points);
  sum.terms = {power_term("A/N^alpha", 0, minus_ln_n(points)),
               power_term("B/D^alpha", 0, minus_ln_d(points)), constant_term("E", points.size())};
  sum.slopes = {"alpha"};
  return sum;
}

ChinchillaLaw equal_slopes_law(const PowerSum& sum, const Unknowns& at) {
  const Unknowns plain = uncentred(sum, at);
  return {std::exp(plain[2]), std::exp(plain[0]), std::exp(plain[1]), plain[3], plain[3]};
}

PowerSum kaplan_sum(std::span<const ScalingPoint> points) {
  PowerSum sum = empty_sum(points);
  sum.terms = {power_term("(Nc/N)^(aN/aD)", 0, minus_ln_n(points)),
               fixed_term("Dc/D", minus_ln_d(points))};
  sum.slopes = {"aN/aD", "aD"};
  sum.multiplier = 1;
  return sum;
}

KaplanLaw kaplan_law(const PowerSum& sum, const Unknowns& at) {
  const Unknowns plain = uncentred(sum, at);
  return {plain[2] * plain[3], plain[3], std::exp(plain[0] / plain[2]), std::exp(plain[1])};
}

PowerSum over_training_sum(std::span<const ScalingPoint> points) {
  PowerSum sum = empty_sum(points);
  auto with = each(points, [](const ScalingPoint& point) {
    return std::log(point.d / point.n) - std::log(point.c);
  });
  auto against = each(points, [](const ScalingPoint& point) {
    return -std::log(point.d / point.n) - std::log(point.c);
  });
  sum.terms = {power_term("a M^h C^-h", 0, std::move(with)),
               power_term("b M^-h C^-h", 0, std::move(against)), constant_term("E", points.size())};
  sum.slopes = {"h"};
  return sum;
}

OverTrainingLaw over_training_law(const PowerSum& sum, const Unknowns& at) {
  const Unknowns plain = uncentred(sum, at);
  return {std::exp(plain[2]), std::exp(plain[0]), std::exp(plain[1]), plain[3]};
}

PowerSum offset_sum(std::span<const XY> pairs) {
  PowerSum sum;
  sum.ln_loss = each(pairs, [](const XY& pair) { return std::log(pair.y); });
  sum.weight = each(pairs, [](const XY& pair) { return pair.weight; });
  sum.terms = {
      power_term("k x^-p", 0, each(pairs, [](const XY& pair) { return -std::log(pair.x); })),
      constant_term("E", pairs.size())};
  sum.slopes = {"p"};
  return sum;
}

OffsetPowerLaw offset_law(const PowerSum& sum, const Unknowns& at) {
  const Unknowns plain = uncentred(sum, at);
  return {std::exp(plain[1]), std::exp(plain[0]), plain[2]};
}

OrderedRows order_points(std::span<const ScalingPoint> points) {
  require_positive(points);
  std::vector<std::array<double, 4>> rows;
  std::vector<int64_t> clusters;
  for (const ScalingPoint& point : points) {
    rows.push_back({std::isfinite(point.c) ? point.c : 0, point.n, point.d, point.loss});
    clusters.push_back(point.cluster);
  }
  return order_rows(rows, clusters);
}

std::vector<ScalingPoint> arranged(std::span<const ScalingPoint> points, const OrderedRows& rows) {
  std::vector<ScalingPoint> made;
  for (size_t i : rows.rows) made.push_back(points[i]);
  return made;
}

}  // namespace skein
