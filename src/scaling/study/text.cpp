#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "names.h"
#include "numbers.h"
#include "parts.h"
#include "scaling/laws/left_out.h"
#include "scaling/laws/text_table.h"

namespace skein::scaling::study {
namespace {

std::string range(const fit::Interval& interval, int digits = 4) {
  if (std::isnan(interval.low)) return "-";
  return fmt::format("{} to {}", shown(interval.low, digits), shown(interval.high, digits));
}

std::string exponent(const fit::Interval& interval) {
  if (std::isnan(interval.value)) return "-";
  if (std::isnan(interval.low)) return fmt::format("{:.3f}", interval.value);
  return fmt::format("{:.3f} ({:.3f}..{:.3f})", interval.value, interval.low, interval.high);
}

std::string percent(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:+.1f}%", 100 * share);
}

std::string span(const std::vector<ScalingPoint>& points, double ScalingPoint::*field) {
  const auto [low, high] = std::ranges::minmax(points, {}, field);
  return fmt::format("{} to {}", shown(low.*field, 3), shown(high.*field, 3));
}

std::string head_text(const Study& study) {
  const auto& points = study.main.points;
  const std::string counted = name(study.main.convention);
  return fmt::format("{}: {} of {} runs fitted, N is {}, C is {}", study.table.path, points.size(),
                     study.table.runs.size(), counted.substr(0, counted.find(',')),
                     counted.substr(counted.find(',') + 2)) +
         left_out_text(study.table) +
         fmt::format("\n  N {}, D {} tokens, C {} FLOPs, loss {} nats a token\n",
                     span(points, &ScalingPoint::n), span(points, &ScalingPoint::d),
                     span(points, &ScalingPoint::c), span(points, &ScalingPoint::loss));
}

std::string offset_text(const fit::OffsetPowerFit& fit) {
  if (!fit.convergence.converged)
    return fmt::format("  L* = E + k C^-p is not fitted: {}\n", fit.convergence.problem);
  return fmt::format("  L* = {} + {} C^-{}; E {}, p {}\n", shown(fit.law.e), shown(fit.law.k),
                     shown(fit.law.p), range(fit.e), range(fit.p));
}

// Of approach 1 or 2.
template <class Fit>
std::string powers_text(const Fit& fit) {
  TextTable rows({"", "coefficient", "exponent of C (95% interval)", "standard error"});
  const auto add = [&](const char* what, const fit::PowerFit& power) {
    rows.add({what, shown(power.law.coefficient), exponent(power.exponent),
              shown(power.exponent.error, 2)});
  };
  add("N*", fit.n_of_c);
  add("D*", fit.d_of_c);
  add("L*", fit.loss_of_c);
  return rows.text() + offset_text(fit.offset_loss_of_c);
}

std::string envelope_text(const fit::EnvelopeFit& fit) {
  std::string text = "\nApproach 1, envelope: ";
  if (!fit.valid()) return text + "not fitted: " + fit.problem + "\n";
  text += fmt::format("the lowest {} at {} of {} budgets, between a smaller and a larger size\n",
                      fit.from_curves ? "curve" : "last loss", fit.envelope.size(), fit.budgets);
  return text + powers_text(fit);
}

std::string budget_table(const fit::IsoflopFit& fit) {
  TextTable rows({"FLOPs", "runs", "N*", "D*", "D*/N*", "L*", "curvature", "half-width", "centre",
                  "bias N", "bias D", "vertex"});
  size_t small = 0;
  for (const fit::IsoflopBudget& budget : fit.budgets) {
    if (budget.points.size() < 3) {
      ++small;
      continue;
    }
    rows.add({shown(budget.flops, 3), std::to_string(budget.points.size()), shown(budget.n, 3),
              shown(budget.d, 3), shown(budget.d / budget.n, 3), shown(budget.loss),
              shown(budget.curvature, 3), shown(budget.half_width, 3),
              shown(budget.centre_offset, 2), percent(budget.n_bias), percent(budget.d_bias),
              budget.problem.empty() ? "inside" : budget.problem});
  }
  return rows.text() +
         (small ? fmt::format("  {} budgets with fewer than 3 runs are not shown\n", small) : "");
}

std::string isoflop_text(const ConventionStudy& study) {
  const fit::IsoflopFit& fit = study.isoflop;
  std::string text = "\nApproach 2, isoFLOP parabolas of the loss over ln N and over ln D: ";
  text += fit.valid() ? "\n" : "not fitted: " + fit.problem + "\n";
  if (!fit.budgets.empty() && fit.budgets.size() < study.points.size()) text += budget_table(fit);
  if (!fit.valid()) return text;
  text +=
      "  Half-width and centre (the middle of the sizes less the vertex) are in ln N, curvature is "
      "of the loss over ln N. Where alpha and beta\n"
      "  differ, a parabola's vertex misses the minimum even without noise, the more the wider the "
      "sizes; bias is what it makes of approach 3's\n"
      "  law on these sizes. It moves the coefficients; the exponents too when half-width or "
      "centre change from budget to budget.\n";
  return text + powers_text(fit);
}

void add_parameter(TextTable& rows, const std::string& what, double value,
                   const fit::Interval& interval) {
  rows.add({what, shown(value, 7), range(interval), shown(interval.error)});
}

std::string convergence_text(const fit::Convergence& c, double objective) {
  return fmt::format(
      "  {}: objective {}, gradient {}, {}% of {} starts within 0.1% of it, condition {}, second "
      "solver {}\n",
      c.converged ? "Converged" : "NOT CONVERGED (" + c.problem + ")", shown(objective, 11),
      shown(c.gradient_norm, 2), shown(100 * c.best_share, 3), c.starts, shown(c.condition, 3),
      shown(c.second_solver, 11));
}

const Names<fit::LossKind> kLossWords{{"Huber loss", fit::LossKind::huber},
                                      {"least absolute", fit::LossKind::absolute},
                                      {"least squares", fit::LossKind::squared}};

std::string parametric_text(const Study& study) {
  const ConventionStudy& main = study.main;
  const fit::ParametricOptions& options = study.options.parametric;
  std::string text = "\nApproach 3, L = E + A/N^alpha + B/D^beta: ";
  if (!main.parametric) return text + "not fitted: " + main.parametric_problem + "\n";
  const fit::ParametricFit& fit = *main.parametric;
  text += fmt::format(
      "{}{} of ln L\n", name_of(kLossWords, options.kind),
      options.kind == fit::LossKind::huber ? fmt::format(" (delta {})", options.delta) : "");
  TextTable rows({"", "estimate", "95% interval", "standard error"});
  add_parameter(rows, "A", fit.law.a, fit.a);
  add_parameter(rows, "B", fit.law.b, fit.b);
  add_parameter(rows, "E", fit.law.e, fit.e);
  add_parameter(rows, "alpha", fit.law.alpha, fit.alpha);
  add_parameter(rows, "beta", fit.law.beta, fit.beta);
  add_parameter(rows, "N* ~ C^", main.n_exponent.value, main.n_exponent);
  add_parameter(rows, "D* ~ C^", main.d_exponent.value, main.d_exponent);
  text += rows.text() + convergence_text(fit.convergence, fit.objective);
  if (!main.curve_points.empty())
    text += fmt::format(
        "  Fitted to {} points of learning curves as well (fit.curves), resampled with their "
        "runs\n",
        main.curve_points.size());
  if (main.flops_per_token.coefficient != 6 || main.flops_per_token.exponent != 1)
    text +=
        fmt::format("  C / D of these runs is taken as {} N^{}\n",
                    shown(main.flops_per_token.coefficient), shown(main.flops_per_token.exponent));
  if (options.resamples == 0) return text;
  return text +
         fmt::format("  Intervals: {} resamples of runs, seed {}, {} of them without a minimum\n",
                     options.resamples, options.seed, fit.failed_draws);
}

std::vector<std::string> exponent_row(const std::string& label, const ConventionStudy& study) {
  return {label, std::to_string(study.points.size()), exponent(study.envelope.n_of_c.exponent),
          exponent(study.isoflop.n_of_c.exponent), exponent(study.n_exponent)};
}

std::string beside_text(const Study& study) {
  if (study.others.empty() && !study.with_excluded) return "";
  TextTable rows({"N and C", "runs", "approach 1", "approach 2", "approach 3"});
  rows.add(exponent_row(name(study.main.convention), study.main));
  for (const ConventionStudy& other : study.others)
    rows.add(exponent_row(name(other.convention), other));
  if (study.with_excluded) rows.add(exponent_row("with the excluded runs", *study.with_excluded));
  return "\nExponent of N* over C by ways of counting (95% intervals, of 200 resamples but for the "
         "first)\n" +
         rows.text();
}

std::string comparison_text(const Study& study) {
  if (study.comparison.empty()) return "";
  TextTable rows({"law", "fitted", "held out", "mean error", "largest error", ""});
  for (const HeldOutFit& held : study.comparison)
    rows.add({held.law, std::to_string(held.fitted), std::to_string(held.held_out),
              percent(held.mean_error), percent(held.worst_error),
              held.converged ? "" : "not fitted: " + held.problem});
  return fmt::format(
             "\nLaws fitted without the budgets from {} FLOPs on, and asked for them (errors of ln "
             "L)\n",
             shown(study.comparison.front().budget, 3)) +
         rows.text();
}

std::string single_text(const NamedSingleLaw& law, const SingleLaw& fits) {
  const auto& [offset, power, problem] = fits;
  if (!power) return "";
  std::string text = fmt::format("\nL({}) of {}:", law.x, law.runs);
  if (offset)
    text += fmt::format(" {} + {} {}^-{}{};", shown(offset->law.e), shown(offset->law.k), law.x,
                        shown(offset->law.p),
                        offset->convergence.converged
                            ? fmt::format(" (p {})", range(offset->p))
                            : " (NOT CONVERGED: " + offset->convergence.problem + ")");
  const double p = -power->law.exponent;
  return text + fmt::format(
                    "\n  without an offset ({} / {})^{} (p {})\n",
                    shown(std::pow(power->law.coefficient, 1 / p), 3), law.x, shown(p),
                    range({p, -power->exponent.high, -power->exponent.low, power->exponent.error}));
}

std::string singles_text(const Study& study) {
  std::string text;
  for (const NamedSingleLaw& law : kSingleLaws) text += single_text(law, study.*law.fits);
  if (study.loss_of_c.power)
    text +=
        "  L(C) holds for how these runs divide C between N and D; another way may be better.\n";
  return text;
}

template <class Fit>
std::string law_text(const char* law, const OtherLaw<Fit>& beside) {
  if (!beside.fit) return fmt::format("  {}\n    not fitted: {}\n", law, beside.problem);
  const Fit& fit = *beside.fit;
  TextTable rows({"", "estimate", "95% interval", "standard error"});
  for (const auto& [name, interval] : numbers_of(fit))
    add_parameter(rows, name, interval.value, interval);
  return fmt::format("  {}\n", law) + rows.text() +
         convergence_text(fit.convergence, fit.objective);
}

std::string data_limited_text(const OtherLaw<fit::DataLimitedFit>& beside) {
  std::string text = law_text(
      "E + A/N'^alpha + B/D'^beta, D' = U + U RD (1 - exp(-(D/U - 1)/RD)) of U unique tokens, N' "
      "likewise (data-limited, Muennighoff et al.)",
      beside);
  if (!beside.fit) return text;
  const fit::DataLimitedFit& fit = *beside.fit;
  if (!fit.r_n_problem.empty()) text += fmt::format("  RN is not fitted: {}\n", fit.r_n_problem);
  const ChinchillaLaw& law = fit.law.law;
  return text + fmt::format(
                    "  of {} runs that see data again, with E {}, A {}, B {}, alpha {}, beta {} of "
                    "the others\n",
                    fit.repeated, shown(law.e), shown(law.a), shown(law.b), shown(law.alpha),
                    shown(law.beta));
}

std::string kaplan_text(const OtherLaw<fit::KaplanFit>& beside) {
  return law_text("[(Nc/N)^(aN/aD) + Dc/D]^aD (Kaplan et al.)", beside);
}

std::string over_training_text(const OtherLaw<fit::OverTrainingFit>& beside) {
  return law_text("E + (a M^h + b M^-h) C^-h, M = D/N (over-training, Gadre et al.)", beside);
}

std::string laws_text(const Study& study) {
  if (!asks(study.options, Approach::parametric)) return "";
  return "\nLaws beside approach 3, of the same runs\n" + kaplan_text(study.kaplan) +
         over_training_text(study.over_training) + data_limited_text(study.data_limited);
}

// fit.law
std::string law_alone_text(const Study& study) {
  switch (study.options.law) {
    case Law::kaplan: return fmt::format("\n{}", kaplan_text(study.kaplan));
    case Law::over_training: return fmt::format("\n{}", over_training_text(study.over_training));
    case Law::data_limited: return fmt::format("\n{}", data_limited_text(study.data_limited));
    default: return singles_text(study);
  }
}

std::string approaches_text(const Study& study) {
  return envelope_text(study.main.envelope) + isoflop_text(study.main) + parametric_text(study) +
         beside_text(study) + comparison_text(study) + laws_text(study) + singles_text(study);
}

std::string critical_batch_text(const CriticalBatchFit& fit) {
  if (!fit.valid()) return "";
  TextTable rows({"parameters", "loss", "critical batch", "least tokens", "batch sizes"});
  for (const CriticalBatchPoint& point : fit.points)
    rows.add({shown(point.n_all), shown(point.loss), shown(point.batch, 3),
              shown(point.least_tokens, 3), std::to_string(point.batches)});
  return fmt::format("\nCritical batch size in tokens: {} L^{}\n",
                     shown(fit.of_loss.coefficient, 3), shown(fit.of_loss.exponent, 3)) +
         rows.text();
}

std::string target_text(const Study& study) {
  if (!study.target) return "";
  const TargetPrediction& target = *study.target;
  TextTable rows({"", "approach 1", "95% interval", "approach 2", "95% interval", "approach 3",
                  "95% interval"});
  for (const TargetNumber& number : kTargetNumbers) {
    std::vector<std::string> row{number.text};
    for (const Prediction* by : {&target.envelope, &target.isoflop, &target.parametric}) {
      row.push_back(shown((by->*number.value).value));
      row.push_back(range(by->*number.value, number.digits));
    }
    rows.add(row);
  }
  return fmt::format("\nAt {} FLOPs, {} times the largest budget fitted\n", shown(target.flops),
                     shown(target.beyond, 3)) +
         rows.text();
}

}  // namespace

std::string study_text(const Study& study) {
  std::string text = head_text(study);
  text += study.options.law == Law::all ? approaches_text(study) : law_alone_text(study);
  text += critical_batch_text(study.critical_batch);
  text += target_text(study);
  if (!study.warnings.empty()) text += "\nWarnings\n";
  for (const std::string& warning : study.warnings) text += "  - " + warning + "\n";
  return text;
}

}  // namespace skein::scaling::study
