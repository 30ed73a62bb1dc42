#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <sstream>

#include "skein/scaling/report/report.h"
#include "skein/scaling/report/text.h"

#include "scaling/study/numbers.h"

namespace skein::scaling::report {
namespace {

constexpr double kOrdinary = 10, kFar = 1000;  // times the largest budget

std::string forecast_text(const study::TargetPrediction& target) {
  return fmt::format(
      "For {} FLOPs the parametric law proposes {} parameters on {} tokens, {} tokens per "
      "parameter, and forecasts a loss of {} nats a token.",
      power_text(target.flops), interval_text(target.parametric.n, count_text),
      interval_text(target.parametric.d, count_text), interval_text(target.parametric.ratio),
      interval_text(target.parametric.loss, number_text, 4));
}

std::string parabola_text(const study::TargetPrediction& target) {
  std::string made = fmt::format(
      "The parabolas through runs of equal compute say {} parameters on {} tokens",
      interval_text(target.isoflop.n, count_text), interval_text(target.isoflop.d, count_text));
  if (std::isfinite(target.isoflop.loss.value))
    made += " and a loss of " + interval_text(target.isoflop.loss, number_text, 4);
  const fit::Interval &two = target.isoflop.n, &three = target.parametric.n;
  if (!std::isfinite(three.value))
    return made + fmt::format(", for {} FLOPs.", power_text(target.flops));
  for (const double end : {two.low, two.high, three.low, three.high})
    if (!std::isfinite(end)) return made + ".";
  return made + (study::apart(two, three)
                     ? ": the intervals of N* do not meet, so at least one approach is biased here."
                     : "; the intervals of N* overlap.");
}

std::string beyond_text(const study::TargetPrediction& target) {
  if (target.beyond <= 1) return "The target lies within the budgets that were fitted.";
  const char* judged = target.beyond <= kOrdinary * 1.0001
                           ? "as far as such laws are commonly trusted"
                       : target.beyond < kFar ? "further than such laws are commonly checked"
                                              : "far further than such laws have been checked";
  return fmt::format(
      "The target is {} times the largest budget that was fitted, {}; intervals hold only if the "
      "law goes on to hold.",
      number_text(target.beyond), judged);
}

std::string exponents(const study::ConventionStudy& main) {
  // Approach 1 by what it goes by: of last losses its sizes are no closer than those tried.
  std::vector<std::string> parts = exponents_of(
      main, {main.envelope.from_curves ? "the frontier"
                                       : "the frontier of last losses, among the sizes tried alone",
             "parabolas", "the parametric law"});
  if (parts.empty()) return {};
  const std::string last = parts.back();
  parts.pop_back();
  return fmt::format("The best size grows as compute to the power {}{}{} (counted: {}).",
                     fmt::join(parts, ", "), parts.empty() ? "" : " and ", last,
                     name(main.convention));
}

double exponent_of(const study::ConventionStudy& one) {
  if (std::isfinite(one.n_exponent.value)) return one.n_exponent.value;
  return one.isoflop.valid() ? one.isoflop.n_of_c.exponent.value : kUnknown;
}

std::string convention_spread(const study::Study& study) {
  const study::ConventionStudy *least = &study.main, *most = &study.main;
  for (const study::ConventionStudy& other : study.others) {
    if (exponent_of(other) < exponent_of(*least)) least = &other;
    if (exponent_of(other) > exponent_of(*most)) most = &other;
  }
  if (!(exponent_of(*least) < exponent_of(*most))) return {};
  return fmt::format(
      "What is counted moves that power from {} ({}) to {} ({}), with the same losses.",
      number_text(exponent_of(*least)), name(least->convention), number_text(exponent_of(*most)),
      name(most->convention));
}

std::string law_text(const study::ConventionStudy& main) {
  if (!main.parametric)
    return "No parametric law was fitted: " + main.parametric_problem +
           (main.parametric_problem.ends_with('.') ? "" : ".");
  const fit::ParametricFit& fit = *main.parametric;
  const std::string verdict = fit.convergence.converged
                                  ? "The fit has converged"
                                  : "The fit has not converged (" + fit.convergence.problem +
                                        "), so its numbers are not to be relied on";
  return fmt::format("{}: L = E + A/N^α + B/D^β with E = {}, α = {}, β = {}, over {}.", verdict,
                     interval_text(fit.e), interval_text(fit.alpha), interval_text(fit.beta),
                     runs_text(main.points.size()));
}

std::string held_out_text(const study::Study& study) {
  const study::HeldOutFit* best = nullptr;
  for (const study::HeldOutFit& one : study.comparison)
    if (one.converged && std::isfinite(one.mean_error) &&
        (!best || std::abs(one.mean_error) < std::abs(best->mean_error)))
      best = &one;
  if (!best) return {};
  return fmt::format(
      "Asked for the {} from {} FLOPs on, which it had not seen, {} came closest on average: off "
      "by {} of the loss, by {} at worst.",
      runs_text(best->held_out), power_text(best->budget), best->law,
      signed_share(best->mean_error), signed_share(best->worst_error));
}

// What is fitted where no approach is.
void add_laws_alone(const study::Study& study, std::vector<std::string>& made) {
  const auto add = [&](const std::string& law, const auto& fit, const study::NamedNumber& one,
                       const study::NamedNumber& other, const std::string& over = "") {
    made.push_back(fmt::format(
        "{}{} = {}, {} = {}{}{}.", law, one.name, interval_text(one.interval), other.name,
        interval_text(other.interval),
        fit->convergence.converged ? "" : " (not converged: " + fit->convergence.problem + ")",
        over));
  };
  if (const auto& fit = study.kaplan.fit)
    add("L = [(Nc/N)^(aN/aD) + Dc/D]^aD with ", fit, {"aN", fit->a_n}, {"aD", fit->a_d});
  if (const auto& fit = study.over_training.fit)
    add("L = E + (a M^h + b M^-h) C^-h, M = D/N, with ", fit, {"E", fit->e}, {"h", fit->h});
  if (const auto& fit = study.data_limited.fit)
    add("Data seen again: ", fit, {"R_D", fit->r_d}, {"R_N", fit->r_n});
  const char* over[] = {
      "runs within a factor of two of the largest D",
      "runs within a factor of two of the largest N",
      "the lowest loss of each budget, for how these runs divide C between N and D"};
  for (size_t i = 0; i < std::size(over); ++i)
    if (const auto& fit = (study.*study::kSingleLaws[i].fits).offset)
      add(fmt::format("L({0}) = E + k {0}^-p: ", study::kSingleLaws[i].x), fit, {"E", fit->e},
          {"p", fit->p}, std::string(", over ") + over[i]);
}

// Of a table that no law can be fitted to: why, line by line.
std::vector<std::string> problem_lines(const std::string& problem) {
  std::vector<std::string> made;
  std::istringstream lines(problem);
  for (std::string line; std::getline(lines, line);)
    made.push_back((made.empty() ? "Nothing is fitted. " : "") +
                   line.substr(std::min(line.size(), line.find_first_not_of(' '))));
  return made;
}

}  // namespace

std::vector<std::string> conclusions(const study::Study& study) {
  std::vector<std::string> made = problem_lines(study.problem);
  if (study.options.law != study::Law::all || !made.empty()) {
    add_laws_alone(study, made);
    return made;
  }
  const auto add = [&](const std::string& sentence) {
    if (!sentence.empty()) made.push_back(sentence);
  };
  if (const auto& target = study.target) {
    if (std::isfinite(target->parametric.n.value)) add(forecast_text(*target));
    if (std::isfinite(target->isoflop.n.value)) add(parabola_text(*target));
    add(beyond_text(*target));
  }
  add(exponents(study.main));
  add(convention_spread(study));
  add(law_text(study.main));
  add(held_out_text(study));
  return made;
}

}  // namespace skein::scaling::report
