#include <functional>

#include "parts.h"
#include "scaling/fit/intervals.h"

namespace skein::scaling::study {
namespace {

Prediction by_parametric(const ConventionStudy& study, double flops) {
  if (!names_optimum(study)) return {};
  const auto over = [&](auto part) {
    return fit::band(study.parametric->law, study.parametric->draws, [&](const ChinchillaLaw& law) {
      return std::invoke(part, fit::efficient(law, flops, study.flops_per_token));
    });
  };
  return {over(&Optimum::n), over(&Optimum::d), over(&Optimum::ratio), over(&Optimum::loss)};
}

// Approach 1 or 2.
template <class Fit>
Prediction by_powers(const Fit& fit, double flops) {
  if (!fit.valid()) return {};
  const auto over = [&](const auto& power) { return fit::at(power, flops, fit.resamples); };
  return {
      over(fit.n_of_c), over(fit.d_of_c), over(fit::quotient(fit.d_of_c, fit.n_of_c)),
      fit.offset_loss_of_c.convergence.converged ? over(fit.offset_loss_of_c) : fit::Interval{}};
}

}  // namespace

TargetPrediction predict_target(const ConventionStudy& study, double flops) {
  const double largest = study.points.back().c, target = flops > 0 ? flops : 10 * largest;
  return {target, target / largest, by_parametric(study, target), by_powers(study.isoflop, target),
          by_powers(study.envelope, target)};
}

}  // namespace skein::scaling::study
