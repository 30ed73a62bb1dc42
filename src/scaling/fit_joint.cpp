#include <cmath>

#include "design_faults.h"
#include "forms.h"
#include "skein/core/error.h"

namespace skein {
namespace {

constexpr size_t kLeastRuns = 6;

std::vector<ScalingPoint> checked(std::span<const ScalingPoint> points, const char* law) {
  std::vector<ScalingPoint> kept = arranged(points, order_points(points));
  require(kept.size() >= kLeastRuns, "too few points: {} needs at least {} different runs, and there are {}", law, kLeastRuns, kept.size());
  require_varied_loss(kept);
  return kept;
}

}  // namespace

KaplanFit fit_kaplan(std::span<const ScalingPoint> points, const ParametricOptions& options) {
  const PowerSum sum = kaplan_sum(checked(points, "[(Nc/N)^(aN/aD) + Dc/D]^aD"));
  const Solution solution = solve(sum, options, scored_starts(sum, criterion_of(options)));
  return {kaplan_law(sum, solution.at), solution.convergence, solution.objective};
}

OverTrainingFit fit_over_training(std::span<const ScalingPoint> points, const ParametricOptions& options) {
  const std::vector<ScalingPoint> kept = checked(points, "E + (a M^h + b M^-h) C^-h");
  for (const ScalingPoint& point : kept)
    require(point.c > 0 && std::isfinite(point.c), "run {} has C = {}; the over-training law needs the FLOPs of every run", point.run + 1, point.c);
  const PowerSum sum = over_training_sum(kept);
  const Solution solution = solve(sum, options, scored_starts(sum, criterion_of(options)));
  return {over_training_law(sum, solution.at), solution.convergence, solution.objective};
}

}  // namespace skein
