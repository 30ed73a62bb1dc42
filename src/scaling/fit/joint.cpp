#include <cmath>

#include "skein/core/error.h"

#include "design_faults.h"
#include "forms.h"
#include "intervals.h"

namespace skein {
namespace {

constexpr size_t kLeastRuns = 6;

struct Runs {
  OrderedRows rows;
  std::vector<ScalingPoint> points;
};

Runs checked(std::span<const ScalingPoint> points, const char* law,
             const ParametricOptions& options) {
  require_resamples(options.resamples);
  Runs runs;
  runs.rows = order_points(points);
  runs.points = arranged(points, runs.rows);
  require(runs.points.size() >= kLeastRuns,
          "too few points: {} needs at least {} different runs, and there are {}", law, kLeastRuns,
          runs.points.size());
  require_varied_loss(runs.points);
  return runs;
}

// Objective, proof and law; the draws for the intervals.
template <class Fit, class Law>
std::vector<Law> solved(Fit& fit, const PowerSum& sum, const Runs& runs,
                        const ParametricOptions& options,
                        Law (*law_of)(const PowerSum&, const Unknowns&)) {
  const Solution solution = solve(sum, options, scored_starts(sum, criterion_of(options)));
  fit.law = law_of(sum, solution.at);
  fit.convergence = solution.convergence;
  fit.objective = solution.objective;
  std::vector<Law> draws;
  for (const Unknowns& at : bootstrap(sum, runs.rows, solution, options))
    draws.push_back(law_of(sum, at));
  fit.failed_draws = options.resamples - std::ssize(draws);
  return draws;
}

template <class Law>
Interval over(const Law& law, const std::vector<Law>& draws, const ParametricOptions& options,
              double Law::*field) {
  std::vector<double> values;
  for (const Law& draw : draws) values.push_back(draw.*field);
  return interval_over(law.*field, std::move(values), options.resamples);
}

}  // namespace

KaplanFit fit_kaplan(std::span<const ScalingPoint> points, const ParametricOptions& options) {
  const Runs runs = checked(points, "[(Nc/N)^(aN/aD) + Dc/D]^aD", options);
  constexpr Inseparable kWhat{"Nc from aN", "Dc from aD", "aN from aD"};
  require_sizes_and_tokens(runs.points, kWhat);
  require_no_line(runs.points, kWhat);
  KaplanFit fit;
  const auto draws = solved(fit, kaplan_sum(runs.points), runs, options, kaplan_law);
  fit.a_n = over(fit.law, draws, options, &KaplanLaw::a_n);
  fit.a_d = over(fit.law, draws, options, &KaplanLaw::a_d);
  fit.n_c = over(fit.law, draws, options, &KaplanLaw::n_c);
  fit.d_c = over(fit.law, draws, options, &KaplanLaw::d_c);
  return fit;
}

OverTrainingFit fit_over_training(std::span<const ScalingPoint> points,
                                  const ParametricOptions& options) {
  const Runs runs = checked(points, "E + (a M^h + b M^-h) C^-h", options);
  for (const ScalingPoint& point : runs.points)
    require(point.c > 0 && std::isfinite(point.c),
            "run {} has C = {}; the over-training law needs the FLOPs of every run", point.run + 1,
            point.c);
  require_ratios_and_budgets(runs.points);
  OverTrainingFit fit;
  const auto draws = solved(fit, over_training_sum(runs.points), runs, options, over_training_law);
  fit.e = over(fit.law, draws, options, &OverTrainingLaw::e);
  fit.a = over(fit.law, draws, options, &OverTrainingLaw::a);
  fit.b = over(fit.law, draws, options, &OverTrainingLaw::b);
  fit.h = over(fit.law, draws, options, &OverTrainingLaw::h);
  return fit;
}

}  // namespace skein
