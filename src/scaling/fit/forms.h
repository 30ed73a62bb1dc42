// Laws as sums of powers.
#pragma once

#include <span>
#include <vector>

#include "skein/scaling/laws/law.h"

#include "bootstrap.h"

namespace skein::scaling::fit {

PowerSum chinchilla_sum(std::span<const ScalingPoint> points);
ChinchillaLaw chinchilla_law(const PowerSum& sum, const Unknowns& at);

// With alpha = beta.
PowerSum equal_slopes_sum(std::span<const ScalingPoint> points);
ChinchillaLaw equal_slopes_law(const PowerSum& sum, const Unknowns& at);

PowerSum kaplan_sum(std::span<const ScalingPoint> points);
KaplanLaw kaplan_law(const PowerSum& sum, const Unknowns& at);

PowerSum over_training_sum(std::span<const ScalingPoint> points);
OverTrainingLaw over_training_law(const PowerSum& sum, const Unknowns& at);

PowerSum offset_sum(std::span<const XY> pairs);
OffsetPowerLaw offset_law(const PowerSum& sum, const Unknowns& at);

// What is fitted: points in their own order, equal ones once.
struct Runs {
  OrderedRows rows;
  std::vector<ScalingPoint> points;
};
// A usage error unless all are positive and finite, and there can be so many resamples.
Runs runs_of(std::span<const ScalingPoint> points, const ParametricOptions& options);

// Sets what a fit has of its solution: law, objective and proof. Returns the draws of the law.
template <class Law>
std::vector<Law> solved(LawFit<Law>& fit, const PowerSum& sum, const Solution& solution,
                        const Runs& runs, const ParametricOptions& options,
                        Law (*law_of)(const PowerSum&, const Unknowns&)) {
  fit.law = law_of(sum, solution.at);
  fit.convergence = solution.convergence;
  fit.objective = solution.objective;
  std::vector<Law> draws;
  for (const Unknowns& at : bootstrap(sum, runs.rows, solution, options))
    draws.push_back(law_of(sum, at));
  fit.failed_draws = options.resamples - std::ssize(draws);
  return draws;
}

}  // namespace skein::scaling::fit
