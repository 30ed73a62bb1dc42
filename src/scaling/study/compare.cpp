#include <algorithm>
#include <cmath>

#include "skein/core/error.h"

#include "parts.h"
#include "scaling/fit/design_faults.h"
#include "scaling/fit/forms.h"

namespace skein::scaling::study {
namespace {

constexpr double kOneBudget = 1.1;  // C of one budget lie within this factor

struct Split {
  std::vector<ScalingPoint> fitted, held_out;
};

Split split(std::span<const ScalingPoint> points) {
  Split made;
  double most = 0;
  for (const ScalingPoint& point : points) most = std::max(most, point.c);
  for (const ScalingPoint& point : points)
    (point.c * kOneBudget >= most ? made.held_out : made.fitted).push_back(point);
  return made;
}

// Predicted less measured.
void add_errors(HeldOutFit& held, const std::vector<double>& errors) {
  held.mean_error = held.worst_error = 0;
  for (double error : errors) {
    held.mean_error += error / errors.size();
    held.worst_error = std::max(held.worst_error, std::abs(error));
  }
}

HeldOutFit begun(const Split& split, const char* law) {
  HeldOutFit held;
  held.law = law;
  held.fitted = std::ssize(split.fitted);
  held.held_out = std::ssize(split.held_out);
  for (const ScalingPoint& point : split.held_out)
    held.budget = std::isnan(held.budget) ? point.c : std::min(held.budget, point.c);
  return held;
}

// fit: the law as a function of a point, and its proof.
template <class Fit>
HeldOutFit tried(const Split& split, const char* law, const Fit& fit) {
  HeldOutFit held = begun(split, law);
  fit::Convergence proof;
  Predict predict;
  held.problem = refusal_of([&] { predict = fit(proof); });
  if (!predict) return held;
  held.converged = proof.converged;
  held.problem = proof.problem;
  std::vector<double> errors;
  for (const ScalingPoint& point : split.held_out)
    errors.push_back(std::log(predict(point) / point.loss));
  add_errors(held, errors);
  return held;
}

const ScalingPoint& lowest(std::span<const ScalingPoint> points) {
  return *std::ranges::min_element(points, {}, &ScalingPoint::loss);
}

// The lowest loss of every budget.
std::vector<fit::XY> frontier(std::vector<ScalingPoint> points) {
  std::ranges::stable_sort(points, {}, &ScalingPoint::c);
  std::vector<fit::XY> made;
  for (size_t first = 0, last = 0; first < points.size(); first = last) {
    while (last < points.size() && points[last].c <= kOneBudget * points[first].c) ++last;
    const ScalingPoint& best = lowest(std::span(points).subspan(first, last - first));
    made.push_back({best.c, best.loss, 1, std::ssize(made)});
  }
  return made;
}

HeldOutFit try_frontier(const Split& split) {
  HeldOutFit held = begun(split, "(c/C)^p, lowest loss of a budget");
  const std::vector<fit::XY> best = frontier(split.fitted);
  held.fitted = std::ssize(best);
  held.held_out = 1;
  if (best.size() < 3) {
    held.problem = fmt::format(
        "too few budgets: a power law of C needs 3 below the one held out, and there are {}",
        best.size());
    return held;
  }
  const ScalingPoint& measured = lowest(split.held_out);
  add_errors(held, {std::log(fit_power(best, 0).law.at(measured.c) / measured.loss)});
  held.converged = true;
  return held;
}

}  // namespace

std::vector<HeldOutFit> compare_laws(std::span<const ScalingPoint> points,
                                     const fit::ParametricOptions& options) {
  fit::ParametricOptions plain = options;
  plain.resamples = 0;
  const std::vector<ScalingPoint> kept = runs_of(points, plain).points;
  for (const ScalingPoint& point : kept)
    require(point.c > 0 && std::isfinite(point.c),
            "run {} has C = {}; laws are compared on the largest budget and need the FLOPs of "
            "every run",
            point.run + 1, point.c);
  const Split parts = split(kept);
  const auto by = [&](const auto& fit_law) {
    return [&](fit::Convergence& proof) {
      const auto fit = fit_law(parts.fitted, plain);
      proof = fit.convergence;
      return loss_by(fit.law);
    };
  };
  const auto equal_slopes = [&](fit::Convergence& proof) {
    fit::require_determined(parts.fitted, parts.fitted.size());
    const fit::PowerSum sum = fit::equal_slopes_sum(parts.fitted);
    const fit::Solution solution = solve(sum, plain, scored_starts(sum, criterion_of(plain)));
    proof = solution.convergence;
    return loss_by(equal_slopes_law(sum, solution.at));
  };
  return {tried(parts, "E + A/N^alpha + B/D^beta", by(fit::fit_chinchilla)),
          tried(parts, "E + A/N^alpha + B/D^alpha", equal_slopes),
          tried(parts, "[(Nc/N)^(aN/aD) + Dc/D]^aD", by(fit::fit_kaplan)),
          tried(parts, "E + (a M^h + b M^-h) C^-h", by(fit::fit_over_training)),
          try_frontier(parts)};
}

}  // namespace skein::scaling::study
