// The minimum of a law's objective, found from many starts and again in another way.
#pragma once

#include <functional>
#include <type_traits>
#include <vector>

#include "skein/scaling/fit/minimise.h"

namespace skein::scaling::fit {

// By how much, relative, the objectives of one basin and those that two solvers find may differ.
constexpr double kSame = 1e-3, kAgree = 1e-4;

struct Solution {
  Unknowns at{};
  double objective = kUnknown;  // of the caller's kind: a sum over points
  Convergence convergence;
  std::vector<Unknowns> candidates;  // where else a resample's minimum may be near
};

// Levels and slopes from a dense grid that is scored but not refined: the best 40, then 40 spread
// over the rest of the ranking.
std::vector<Unknowns> scored_starts(const PowerSum& sum, const Criterion& criterion);
// Those of them with the lowest objective as they are, lowest first.
std::vector<Unknowns> lowest(const PowerSum& sum, const Criterion& criterion,
                             const std::vector<Unknowns>& starts, size_t count);
// The minimum that the best start leads to; without starts the best of scored_starts.
Solution solve(const PowerSum& sum, const ParametricOptions& options,
               std::vector<Unknowns> starts = {});

// Polished from one start by the caller's kind of residual; for least absolutes with a delta that
// falls until it changes nothing.
Minimum refine(const PowerSum& sum, const ParametricOptions& options, const Unknowns& start);
Criterion criterion_of(const ParametricOptions& options);
// From the units of the criterion to those of the caller's kind.
double in_units(const ParametricOptions& options, double value);

// The minimum by variable projection (Golub and Pereyra, 1973): the law is linear in exp of the
// levels, so these are found by non-negative least squares, reweighted for the criterion, and the
// slopes by a grid and a simplex. Shares no derivatives with the first solver.
Unknowns project(const PowerSum& sum, const Criterion& criterion);

// The largest eigenvalue over the smallest; unknown where that is not positive.
double condition_of(const UnknownsSquared& matrix, int n);
// "" where every term counts somewhere, every level is a number and every slope is positive.
// levels_may_vanish: of terms without slope.
std::string degenerate(const PowerSum& sum, const Unknowns& at, bool levels_may_vanish);
// "" where the Jacobian has full rank.
std::string rank_problem(const PowerSum& sum, const Unknowns& at);
// Whether residuals as small as these could be had by chance where `without` are those of a law of
// two unknowns less, both as means of |r|. That is the F test at 1%, whose chance is (sum r^2 / sum
// r^2 without)^(m / 2), m the points less the unknowns but at least 3, since fewer would refuse any
// law of few points; the means of |r|, which outliers do not decide, stand for the roots of these
// sums.
bool by_chance(double with, double without, double points_less_unknowns);
// "" where the runs show every power: fitted again without it, residuals are larger than by chance.
std::string unseen_term(const PowerSum& sum, const ParametricOptions& options, const Unknowns& at);

// body(i) for i below count on that many threads (0: as many as OMP_NUM_THREADS says, else all of
// this machine).
void in_parallel(int64_t count, int threads, const std::function<void(int64_t)>& body);
// What find(i), an optional, found alike for i below count, in their order.
template <class Find>
auto found_in_parallel(int64_t count, int threads, const Find& find) {
  std::vector<std::invoke_result_t<Find, int64_t>> all(count);
  in_parallel(count, threads, [&](int64_t i) { all[i] = find(i); });
  std::vector<typename std::invoke_result_t<Find, int64_t>::value_type> found;
  for (const auto& one : all)
    if (one) found.push_back(*one);
  return found;
}

}  // namespace skein::scaling::fit
