#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>

#include "parts.h"

namespace skein::scaling::study {
namespace {

struct Warnings {
  std::vector<std::string> all;

  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    all.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
};

constexpr double kFelt = 1e-3;  // of the loss

void warn_of_parametric(const Study& study, Warnings& warnings) {
  const ConventionStudy& main = study.main;
  if (!main.parametric) {
    if (study.options.approach != Approach::parametric && asks(study.options, Approach::parametric))
      warnings.add("approach 3 is not fitted: {}", main.parametric_problem);
    return;
  }
  const fit::ParametricFit& fit = *main.parametric;
  if (!main.curve_points.empty())
    warnings.add(
        "approach 3 is fitted to points of learning curves: while the learning rate has yet to "
        "decay their losses are higher than those of runs that end there");
  if (!fit.convergence.converged)
    warnings.add("approach 3 has not converged: {}; it names no best size, do not use its numbers",
                 fit.convergence.problem);
  const double least = std::ranges::min(main.points, {}, &ScalingPoint::loss).loss;
  if (fit.law.e >= least)
    warnings.add("E of approach 3 is {:.4g}, not below the least loss of {:.4g}", fit.law.e, least);
  const auto asked = study.options.parametric.resamples;
  if (fit.failed_draws * 20 > asked)
    warnings.add("{} of {} resamples of approach 3 did not converge", fit.failed_draws, asked);
}

void warn_of_laws_beside(const Study& study, Warnings& warnings) {
  const auto check = [&](const char* name, const std::string& why) {
    if (!why.empty()) warnings.add("{} {}; do not use its numbers", name, why);
  };
  check("Kaplan's law", not_converged(study.kaplan));
  check("the over-training law", not_converged(study.over_training));
  check("the data-limited law", not_converged(study.data_limited));
}

// A power that the larger half of the runs does not feel rests on the others alone, however well it
// was found.
void warn_of_steep(const ConventionStudy& main, Warnings& warnings) {
  if (!names_optimum(main)) return;
  const ChinchillaLaw& law = main.parametric->law;
  const auto check = [&](const char* term, const char* of, double ScalingPoint::*field,
                         double factor, double power) {
    std::vector<double> sizes;
    for (const ScalingPoint& point : main.points) sizes.push_back(point.*field);
    std::nth_element(sizes.begin(), sizes.begin() + (sizes.size() / 2), sizes.end());
    const double middle = sizes[sizes.size() / 2],
                 share = factor * std::pow(middle, -power) / law.e;
    if (share < kFelt)
      warnings.add(
          "{} of approach 3 rests on the smallest runs alone: its exponent is {:.3g}, and from {} "
          "= {:.3g} on it is below {:.2g}% of the loss",
          term, power, of, middle, 100 * kFelt);
  };
  check("A/N^alpha", "N", &ScalingPoint::n, law.a, law.alpha);
  check("B/D^beta", "D", &ScalingPoint::d, law.b, law.beta);
}

// Budgets at the ends of the data whose best size by approach 3 no run is near.
void warn_of_unsampled_optima(const ConventionStudy& main, Warnings& warnings) {
  if (!names_optimum(main)) return;
  const auto [least, most] = std::ranges::minmax(main.points, {}, &ScalingPoint::n);
  for (const double flops : {main.points.front().c, main.points.back().c}) {
    const double best = fit::efficient(main.parametric->law, flops, main.flops_per_token).n;
    if (best < least.n || best > most.n)
      warnings.add(
          "approach 3 puts the best size for {:.3g} FLOPs at N* = {:.3g}; the runs' are {:.3g} to "
          "{:.3g}, so it is not seen in the data",
          flops, best, least.n, most.n);
  }
}

// How the grid's centre moves against the minimum from budget to budget, in ln n per ln c.
double centre_drift(const std::vector<fit::IsoflopBudget>& budgets) {
  double count = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const fit::IsoflopBudget& budget : budgets) {
    if (!budget.problem.empty()) continue;
    const double c = std::log(budget.flops / budgets.front().flops);
    count += 1;
    x += c;
    y += budget.centre_offset;
    xx += c * c;
    xy += c * budget.centre_offset;
  }
  return (count * xy - x * y) / (count * xx - x * x);
}

// One warning for all budgets of which `fault` says something.
void warn_of_some(const fit::IsoflopFit& fit, const std::string& what,
                  const std::function<std::string(const fit::IsoflopBudget&)>& fault,
                  Warnings& warnings) {
  std::vector<std::string> found;
  for (const fit::IsoflopBudget& budget : fit.budgets)
    if (const std::string said = fault(budget); !said.empty())
      found.push_back(fmt::format("{:.3g} FLOPs{}", budget.flops, said));
  if (!found.empty())
    warnings.add("approach 2, {} at {} of {} budgets: {}", what, found.size(), fit.budgets.size(),
                 fmt::join(found, "; "));
}

void warn_of_budgets(const fit::IsoflopFit& fit, Warnings& warnings) {
  warn_of_some(
      fit, "no minimum that counts",
      [](const fit::IsoflopBudget& budget) {
        return !budget.problem.empty() && budget.points.size() >= 3 ? ", " + budget.problem : "";
      },
      warnings);
  warn_of_some(
      fit, "a minimum that rests on 3 or 4 runs alone",
      [](const fit::IsoflopBudget& budget) {
        return budget.problem.empty() && budget.points.size() < 5
                   ? fmt::format(", {} runs", budget.points.size())
                   : "";
      },
      warnings);
  warn_of_some(
      fit, "sizes that lie to one side of the minimum",
      [](const fit::IsoflopBudget& budget) {
        const bool off =
            budget.problem.empty() && std::abs(budget.centre_offset) > budget.half_width / 2;
        return off ? fmt::format(", centre off by {:+.2g} of a half-width of {:.2g} in ln N",
                                 budget.centre_offset, budget.half_width)
                   : "";
      },
      warnings);
}

void warn_of_isoflop(const Study& study, Warnings& warnings) {
  const fit::IsoflopFit& fit = study.main.isoflop;
  if (!asks(study.options, Approach::isoflop)) return;
  if (!fit.valid()) {
    warnings.add("approach 2 is not fitted: {}", fit.problem);
    return;
  }
  warn_of_budgets(fit, warnings);
  if (const double drift = centre_drift(fit.budgets); std::abs(drift) > 0.1)
    warnings.add(
        "approach 2: the sizes' centre drifts against the minimum by {:+.2g} in ln N per ln C, "
        "which biases the exponents",
        drift);
  if (fit.failed_draws * 20 > fit.resamples)
    warnings.add("approach 2: {} of {} resamples left fewer than 3 budgets with a minimum",
                 fit.failed_draws, fit.resamples);
}

void warn_of_last_points(const fit::EnvelopeFit& fit, size_t points, Warnings& warnings) {
  const std::string of = fit.without_curves > 0
                             ? fmt::format(" of {} of {} runs", fit.without_curves, points)
                             : std::string();
  warnings.add(
      "approach 1 goes by the runs' last losses, for want of curves{}: its sizes are those that "
      "were sampled, a staircase",
      of);
  if (const auto left = fit.budgets - std::ssize(fit.envelope); left > 0)
    warnings.add(
        "approach 1 leaves out {} of {} budgets: the lowest loss there is of a run alone, or of "
        "the smallest or the largest size tried, which bounds nothing",
        left, fit.budgets);
}

void warn_of_envelope(const Study& study, Warnings& warnings) {
  const fit::EnvelopeFit& fit = study.main.envelope;
  if (!asks(study.options, Approach::envelope)) return;
  if (!fit.valid()) {
    warnings.add("approach 1 is not fitted: {}", fit.problem);
    return;
  }
  if (!fit.from_curves) warn_of_last_points(fit, study.main.points.size(), warnings);
  if (fit.failed_draws * 20 > fit.resamples)
    warnings.add("approach 1: {} of {} resamples left fewer than 3 sizes that win a budget{}",
                 fit.failed_draws, fit.resamples,
                 knows_exponent(fit) ? "" : "; its exponents have no interval");
}

void warn_of_repeats(const ConventionStudy& main, Warnings& warnings) {
  int64_t repeated = 0;
  double most = 1;
  for (const ScalingPoint& point : main.points) {
    if (!point.repeated()) continue;
    ++repeated;
    most = std::max(most, point.d / point.unique_tokens);
  }
  if (repeated > 0)
    warnings.add(
        "{} runs see data again, up to {:.3g} times; all but the data-limited law take such tokens "
        "for new ones, which holds up to about 4 times",
        repeated, most);
}

void warn_of_outliers(const Study& study, Warnings& warnings) {
  constexpr size_t kMostNamed = 8;
  std::vector<std::string> named;
  for (const Outlier& one : study.outliers) {
    if (named.size() == kMostNamed) break;
    const ScalingRun& run = study.table.runs[one.run];
    const std::string line = fmt::format("line {}", run.line);
    named.push_back(fmt::format("{} found {:.4g}, predicted {:.4g}",
                                run.name == line ? line : fmt::format("{} ({})", run.name, line),
                                one.found, one.predicted));
  }
  const size_t count = study.outliers.size();
  if (count > 0)
    warnings.add("{} of {} runs are 20% or more off the fitted law: {}{}", count,
                 study.main.points.size(), fmt::join(named, "; "),
                 count > kMostNamed
                     ? fmt::format("; and {} more (the JSON has all)", count - kMostNamed)
                     : "");
}

void warn_of_disagreement(const Study& study, Warnings& warnings) {
  const fit::Interval& two = study.main.isoflop.n_of_c.exponent;
  const fit::Interval& three = study.main.n_exponent;
  if (apart(two, three))
    warnings.add(
        "approaches 2 and 3 disagree on the exponent of N*: {:.3f} ({:.3f} to {:.3f}) against "
        "{:.3f} ({:.3f} to {:.3f})",
        two.value, two.low, two.high, three.value, three.low, three.high);
}

}  // namespace

std::vector<std::string> warnings_of(const Study& study) {
  Warnings warnings;
  warn_of_envelope(study, warnings);
  warn_of_isoflop(study, warnings);
  warn_of_parametric(study, warnings);
  warn_of_laws_beside(study, warnings);
  warn_of_outliers(study, warnings);
  warn_of_steep(study.main, warnings);
  warn_of_unsampled_optima(study.main, warnings);
  warn_of_disagreement(study, warnings);
  warn_of_repeats(study.main, warnings);
  if (study.target && study.target->beyond > 30)
    warnings.add(
        "the target of {:.3g} FLOPs is {:.3g} times the largest budget: the intervals know of "
        "noise, not of laws that change on the way",
        study.target->flops, study.target->beyond);
  return warnings.all;
}

}  // namespace skein::scaling::study
