
#include "skein/core/error.h"

#include "design_faults.h"
#include "forms.h"
#include "intervals.h"

namespace skein::scaling::fit {
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
  fit.e = band(fit.law, fit.draws, &ChinchillaLaw::e);
  fit.a = band(fit.law, fit.draws, &ChinchillaLaw::a);
  fit.b = band(fit.law, fit.draws, &ChinchillaLaw::b);
  fit.alpha = band(fit.law, fit.draws, &ChinchillaLaw::alpha);
  fit.beta = band(fit.law, fit.draws, &ChinchillaLaw::beta);
  fit.n_exponent = band(fit.law, fit.draws, &ChinchillaLaw::n_exponent);
}

}  // namespace

Interval band(const ChinchillaLaw& best, std::span<const ChinchillaLaw> draws,
              const std::function<double(const ChinchillaLaw&)>& quantity) {
  return interval_of(quantity(best), each(draws, quantity));
}

bool has_optimum(const ParametricFit& fit) {
  return fit.convergence.converged && fit.law.a > 0 && fit.law.b > 0 && fit.law.alpha > 0 &&
         fit.law.beta > 0;
}

ParametricFit fit_chinchilla(std::span<const ScalingPoint> points,
                             const ParametricOptions& options) {
  const Runs runs = runs_of(points, options);
  require_determined(runs.points,
                     options.resamples > 0 ? runs.rows.clusters.size() : runs.points.size());
  const PowerSum sum = chinchilla_sum(runs.points);
  const Solution solution =
      solve(sum, options, options.every_start ? paper_starts(sum) : std::vector<Unknowns>());
  const std::string rank = rank_problem(sum, solution.at), &problem = solution.convergence.problem;
  require(rank.empty(), "{}{}{}", problem == rank ? "" : problem, problem == rank ? "" : "; ",
          rank);
  ParametricFit fit;
  fit.draws = solved(fit, sum, solution, runs, options, chinchilla_law);
  if (2 * fit.failed_draws > options.resamples) fit.draws.clear();
  add_intervals(fit);
  return fit;
}

}  // namespace skein::scaling::fit
