#include <cmath>

#include "skein/core/error.h"

#include "design_faults.h"
#include "forms.h"

namespace skein {
namespace {

// All 4,500 of Hoffmann et al. (2022), approach 3.
std::vector<Unknowns> paper_starts(const PowerSum& sum) {
  std::vector<Unknowns> made;
  for (int alpha = 0; alpha <= 4; ++alpha) {
    for (int beta = 0; beta <= 4; ++beta) {
      for (int e = -2; e <= 2; ++e) {
        for (int a = 0; a <= 25; a += 5) {
          for (int b = 0; b <= 25; b += 5)
            made.push_back({a + alpha / 2.0 * sum.terms[0].centre,
                            b + beta / 2.0 * sum.terms[1].centre, e / 2.0, alpha / 2.0,
                            beta / 2.0});
        }
      }
    }
  }
  return made;
}

void add_intervals(ParametricFit& fit) {
  const auto of = [&](const auto& quantity) { return band(fit.law, fit.draws, quantity); };
  fit.e = of([](const ChinchillaLaw& law) { return law.e; });
  fit.a = of([](const ChinchillaLaw& law) { return law.a; });
  fit.b = of([](const ChinchillaLaw& law) { return law.b; });
  fit.alpha = of([](const ChinchillaLaw& law) { return law.alpha; });
  fit.beta = of([](const ChinchillaLaw& law) { return law.beta; });
  fit.n_exponent = of([](const ChinchillaLaw& law) { return law.n_exponent(); });
}

}  // namespace

Interval band(const ChinchillaLaw& best, std::span<const ChinchillaLaw> draws,
              const std::function<double(const ChinchillaLaw&)>& quantity) {
  std::vector<double> values;
  for (const ChinchillaLaw& draw : draws) values.push_back(quantity(draw));
  return interval_of(quantity(best), std::move(values));
}

bool has_optimum(const ParametricFit& fit) {
  return fit.convergence.converged && fit.law.a > 0 && fit.law.b > 0 && fit.law.alpha > 0 &&
         fit.law.beta > 0;
}

ParametricFit fit_chinchilla(std::span<const ScalingPoint> points,
                             const ParametricOptions& options) {
  require_resamples(options.resamples);
  const OrderedRows rows = order_points(points);
  const std::vector<ScalingPoint> kept = arranged(points, rows);
  require_determined(kept, options.resamples > 0 ? rows.clusters.size() : kept.size());
  const PowerSum sum = chinchilla_sum(kept);
  const Solution solution =
      solve(sum, options,
            options.every_start ? paper_starts(sum) : scored_starts(sum, criterion_of(options)));
  const std::string rank = rank_problem(sum, solution.at), &problem = solution.convergence.problem;
  require(rank.empty(), "{}{}{}", problem == rank ? "" : problem, problem == rank ? "" : "; ",
          rank);
  ParametricFit fit;
  fit.law = chinchilla_law(sum, solution.at);
  fit.objective = solution.objective;
  fit.convergence = solution.convergence;
  for (const Unknowns& at : bootstrap(sum, rows, solution, options))
    fit.draws.push_back(chinchilla_law(sum, at));
  fit.failed_draws = options.resamples - std::ssize(fit.draws);
  if (2 * fit.failed_draws > options.resamples) fit.draws.clear();
  add_intervals(fit);
  return fit;
}

}  // namespace skein
