#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "skein/core/error.h"

#include "forms.h"
#include "intervals.h"

namespace skein::scaling::fit {
namespace {

constexpr size_t kLeastForOffset = 4;

// Pairs that all claim one cluster are resampled one by one.
OrderedRows order_pairs(std::span<const XY> pairs) {
  std::vector<std::array<double, 4>> rows;
  std::vector<int64_t> clusters;
  bool one_cluster = true;
  for (const XY& pair : pairs) {
    require(pair.x > 0 && std::isfinite(pair.x) && pair.y > 0 && std::isfinite(pair.y),
            "a power law has positive x and y, and a pair is x = {}, y = {}", pair.x, pair.y);
    require(pair.weight > 0 && std::isfinite(pair.weight),
            "the pair x = {}, y = {} has weight {}; a weight must be positive", pair.x, pair.y,
            pair.weight);
    rows.push_back({pair.x, pair.y, pair.weight, 0});
    clusters.push_back(pair.cluster);
    one_cluster &= pair.cluster == pairs[0].cluster;
  }
  for (size_t i = 0; one_cluster && i < clusters.size(); ++i) clusters[i] = i;
  return order_rows(rows, clusters);
}

size_t different_x(std::span<const XY> pairs) {
  std::set<double> seen;
  for (const XY& pair : pairs) seen.insert(pair.x);
  return seen.size();
}

struct Line {
  double slope = kUnknown, level = kUnknown;  // of ln y over ln x, at ln x = 0
};

// Unknown where all that count have one x.
Line line_through(std::span<const XY> pairs, const std::vector<double>& counts) {
  double total = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (size_t i = 0; i < pairs.size(); ++i) total += counts[i] * pairs[i].weight;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const double share = counts[i] * pairs[i].weight / total;
    x += share * std::log(pairs[i].x);
    y += share * std::log(pairs[i].y);
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    const double share = counts[i] * pairs[i].weight / total, dx = std::log(pairs[i].x) - x;
    xx += share * dx * dx;
    xy += share * dx * (std::log(pairs[i].y) - y);
  }
  if (!(xx > 1e-12)) return {};
  return {xy / xx, y - xy / xx * x};
}

PowerLaw law_of(const Line& line) { return {std::exp(line.level), line.slope}; }

struct Offset {
  PowerSum sum;
  Solution solution;
};

Offset solve_offset(const std::vector<XY>& pairs, const ParametricOptions& options) {
  require(different_x(pairs) >= kLeastForOffset,
          "E + k x^-p has 3 unknowns and needs pairs at {} or more x, and there are {} pairs at {}",
          kLeastForOffset, pairs.size(), different_x(pairs));
  const auto [least, most] = std::ranges::minmax_element(pairs, {}, &XY::y);
  require(std::log(most->y / least->y) > 1e-9,
          "all {} pairs have y = {:.6g}: a constant fits no law", pairs.size(), least->y);
  const PowerSum sum = offset_sum(pairs);
  return {sum, solve(sum, options)};
}

// From what was found before, whose covariates have another centre.
std::optional<OffsetPowerLaw> solve_again(const Offset& before, std::span<const XY> pairs,
                                          const ParametricOptions& options) {
  if (different_x(pairs) < kLeastForOffset) return {};
  const PowerSum sum = offset_sum(pairs);
  Solution near = before.solution;
  near.at = centred(sum, uncentred(before.sum, near.at));
  for (Unknowns& candidate : near.candidates)
    candidate = centred(sum, uncentred(before.sum, candidate));
  const auto at = fit_resample(sum, near, options);
  return at ? std::optional(offset_law(sum, *at)) : std::nullopt;
}

OffsetPowerFit with_draws(const Offset& found, std::vector<OffsetPowerLaw> draws, int64_t asked) {
  OffsetPowerFit fit;
  fit.law = offset_law(found.sum, found.solution.at);
  fit.convergence = found.solution.convergence;
  fit.failed_draws = asked - std::ssize(draws);
  fit.e = interval_over(fit.law, draws, &OffsetPowerLaw::e, asked);
  fit.k = interval_over(fit.law, draws, &OffsetPowerLaw::k, asked);
  fit.p = interval_over(fit.law, draws, &OffsetPowerLaw::p, asked);
  fit.draws = std::move(draws);
  return fit;
}

}  // namespace

PowerFit fit_power(std::span<const XY> pairs, int64_t resamples, uint64_t seed) {
  require_resamples(resamples);
  const OrderedRows rows = order_pairs(pairs);
  const std::vector<XY> kept = arranged(pairs, rows);
  require(different_x(kept) >= 2,
          "a power law needs pairs at 2 or more x, and there are {} pairs at {}", kept.size(),
          different_x(kept));
  std::vector<PowerLaw> draws;
  // Two clusters have no spread that says anything.
  for (int64_t i = 0; rows.clusters.size() > 2 && i < resamples; ++i) {
    const Line line = line_through(kept, resample_counts(rows, seed, i));
    if (std::isfinite(line.slope)) draws.push_back(law_of(line));
  }
  const auto made = std::ssize(draws);
  return power_fit(law_of(line_through(kept, std::vector<double>(kept.size(), 1.0))),
                   std::move(draws), made);
}

PowerFit quotient(const PowerFit& over, const PowerFit& under) {
  const auto divide = [](const PowerLaw& a, const PowerLaw& b) {
    return PowerLaw{a.coefficient / b.coefficient, a.exponent - b.exponent};
  };
  PowerFit made;
  made.law = divide(over.law, under.law);
  for (size_t i = 0; i < std::min(over.draws.size(), under.draws.size()); ++i)
    made.draws.push_back(divide(over.draws[i], under.draws[i]));
  return made;
}

OffsetPowerFit fit_offset_power(std::span<const XY> pairs, const ParametricOptions& options) {
  require_resamples(options.resamples);
  const OrderedRows rows = order_pairs(pairs);
  const Offset found = solve_offset(arranged(pairs, rows), options);
  std::vector<OffsetPowerLaw> draws;
  for (const Unknowns& at : bootstrap(found.sum, rows, found.solution, options))
    draws.push_back(offset_law(found.sum, at));
  return with_draws(found, std::move(draws), options.resamples);
}

OffsetPowerFit fit_offset_power(std::span<const XY> pairs,
                                std::span<const std::vector<XY>> resampled,
                                const ParametricOptions& options) {
  const Offset found = solve_offset(arranged(pairs, order_pairs(pairs)), options);
  const auto again = [&](int64_t i) { return solve_again(found, resampled[i], options); };
  return with_draws(found, found_in_parallel(std::ssize(resampled), options.threads, again),
                    std::ssize(resampled));
}

}  // namespace skein::scaling::fit
