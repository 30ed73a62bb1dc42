#include <functional>

#include "parts.h"
#include "scaling/fit/intervals.h"

namespace skein {
namespace {

void predict_parametric(const ConventionStudy& study, TargetPrediction& target) {
  const auto over = [&](const std::function<double(const Optimum&)>& part) {
    return band(study.parametric->law, study.parametric->draws, [&](const ChinchillaLaw& law) {
      return part(efficient(law, target.flops, study.flops_per_token));
    });
  };
  target.n = over([](const Optimum& best) { return best.n; });
  target.d = over([](const Optimum& best) { return best.d; });
  target.ratio = over([](const Optimum& best) { return best.ratio(); });
  target.loss = over([](const Optimum& best) { return best.loss; });
}

Interval loss_at(const OffsetPowerFit& fit, double flops, int64_t resamples) {
  return fit.convergence.converged ? at(fit, flops, resamples) : Interval{};
}

}  // namespace

TargetPrediction predict_target(const ConventionStudy& study, double flops) {
  TargetPrediction target;
  const double largest = study.points.back().c;
  target.flops = flops > 0 ? flops : 10 * largest;
  target.beyond = target.flops / largest;
  if (names_optimum(study)) predict_parametric(study, target);
  if (const IsoflopFit& fit = study.isoflop; fit.valid()) {
    target.isoflop_n = at(fit.n_of_c, target.flops, fit.resamples);
    target.isoflop_d = at(fit.d_of_c, target.flops, fit.resamples);
    target.isoflop_ratio = at(quotient(fit.d_of_c, fit.n_of_c), target.flops, fit.resamples);
    target.isoflop_loss = loss_at(fit.offset_loss_of_c, target.flops, fit.resamples);
  }
  if (const EnvelopeFit& fit = study.envelope; fit.valid()) {
    target.envelope_n = at(fit.n_of_c, target.flops, fit.resamples);
    target.envelope_d = at(fit.d_of_c, target.flops, fit.resamples);
    target.envelope_ratio = at(quotient(fit.d_of_c, fit.n_of_c), target.flops, fit.resamples);
    target.envelope_loss = loss_at(fit.offset_loss_of_c, target.flops, fit.resamples);
  }
  return target;
}

}  // namespace skein
