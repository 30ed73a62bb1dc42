#include <cmath>

#include "skein/core/error.h"

#include "design_faults.h"
#include "forms.h"
#include "intervals.h"

namespace skein::scaling::fit {
namespace {

Runs checked(std::span<const ScalingPoint> points, const char* law,
             const ParametricOptions& options) {
  const Runs runs = runs_of(points, options);
  require(runs.points.size() >= kLeastRuns,
          "too few points: {} needs at least {} different runs, and there are {}", law, kLeastRuns,
          runs.points.size());
  require_varied_loss(runs.points);
  return runs;
}

}  // namespace

KaplanFit fit_kaplan(std::span<const ScalingPoint> points, const ParametricOptions& options) {
  const Runs runs = checked(points, "[(Nc/N)^(aN/aD) + Dc/D]^aD", options);
  constexpr DesignFault kWhat{"Nc from aN", "Dc from aD", "aN from aD"};
  require_sizes_and_tokens(runs.points, kWhat);
  require_no_line(runs.points, kWhat);
  KaplanFit fit;
  const PowerSum sum = kaplan_sum(runs.points);
  const auto draws = solved(fit, sum, solve(sum, options), runs, options, kaplan_law);
  fit.a_n = interval_over(fit.law, draws, &KaplanLaw::a_n, options.resamples);
  fit.a_d = interval_over(fit.law, draws, &KaplanLaw::a_d, options.resamples);
  fit.n_c = interval_over(fit.law, draws, &KaplanLaw::n_c, options.resamples);
  fit.d_c = interval_over(fit.law, draws, &KaplanLaw::d_c, options.resamples);
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
  const PowerSum sum = over_training_sum(runs.points);
  const auto draws = solved(fit, sum, solve(sum, options), runs, options, over_training_law);
  fit.e = interval_over(fit.law, draws, &OverTrainingLaw::e, options.resamples);
  fit.a = interval_over(fit.law, draws, &OverTrainingLaw::a, options.resamples);
  fit.b = interval_over(fit.law, draws, &OverTrainingLaw::b, options.resamples);
  fit.h = interval_over(fit.law, draws, &OverTrainingLaw::h, options.resamples);
  return fit;
}

}  // namespace skein::scaling::fit
