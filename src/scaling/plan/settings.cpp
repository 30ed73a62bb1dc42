#include "settings.h"

#include <cmath>

#include "skein/core/error.h"

#include "scaling/laws/text_table.h"
#include "warnings.h"

namespace skein::scaling::plan {
namespace {

constexpr const char* kRuleOfNone = "step_law";
constexpr double kMuchWider = 2;

// One of the two settings, as the fit knows it.
struct FittedSetting {
  const char* option;
  const char* what;
  const study::SettingRule& rule;
  const study::BestSetting& best;
  bool known() const { return best.valid() || rule.known(); }
};

study::RunSettings known_of(const PlanLaw& law) {
  return law.trained_with.value_or(study::RunSettings{});
}

void settle_rule(Plan& plan, const FittedSetting& of, std::string& rule) {
  const bool fitted = !plan.options.fit.empty();
  if (rule.empty() && fitted && !of.known())
    plan_warning(plan,
                 "{} does not say by which rule its runs got their {}; the one proposed is that of "
                 "{}, which knows nothing of these runs: fit the folder of a sweep, or give {}",
                 plan.options.fit, of.what, kRuleOfNone, of.option);
  if (rule.empty()) rule = fitted && of.known() ? kRuleOfFit : kRuleOfNone;
  require(rule != kRuleOfFit || of.known(),
          "{}={}: {} does not say by which rule its runs got their {}; fit the folder of a sweep, "
          "or give one of {}",
          of.option, rule, fitted ? plan.options.fit : "the published law", of.what,
          fmt::join(hyperparameter_rules(), ", "));
}

// A table that is no sweep's does not say whether its runs were scaled by muP; then the user does.
void take_over_mup(Plan& plan, const study::RunSettings& runs) {
  if (!runs.lr.known() && runs.mup_base_width == 0) return;
  ModelConfig& model = plan.options.model;
  const bool same = model.mup_base_width == runs.mup_base_width &&
                    (model.mup_base_head == 0 || model.mup_base_head == runs.mup_base_head);
  require(model.mup_base_width == 0 || same,
          "model.mup_base_width={} and model.mup_base_head={} are not what the runs of {} were "
          "trained with ({} and {}; 0: without muP), so that their learning rates are not for "
          "them; leave them out, or give plan.lr_rule",
          model.mup_base_width, model.mup_base_head, plan.options.fit, runs.mup_base_width,
          runs.mup_base_head);
  model.mup_base_width = runs.mup_base_width;
  model.mup_base_head = runs.mup_base_head;
}

// "; 0.005 to 0.02 in its runs".
std::string range_of(const study::SettingRule& rule) {
  return rule.high > rule.low * 1.001
             ? fmt::format(", {} to {} in its runs", shown(rule.low, 3), shown(rule.high, 3))
             : "";
}

std::string origin_of(const study::BestSetting& best) {
  std::string powers;
  if (best.n_exponent != 0) powers += fmt::format(" N^{:.3g}", best.n_exponent);
  if (best.d_exponent != 0) powers += fmt::format(" D^{:.3g}", best.d_exponent);
  return fmt::format("the fit's best: {}{}, of {} cells of its runs", shown(best.coefficient, 3),
                     powers, best.cells);
}

// Best values that were not found at several sizes say nothing of how they move with the size;
// a rule that moves does.
bool goes_by_best(const FittedSetting& of) {
  const bool moves = of.best.n_exponent != 0 || of.best.d_exponent != 0;
  const bool constant_rule = !of.rule.known() || of.rule.rule == "fixed" || of.rule.rule == "mup";
  return of.best.valid() && (moves || constant_rule);
}

std::string origin_of(const FittedSetting& of, const study::RunSettings& runs) {
  if (goes_by_best(of)) return origin_of(of.best);
  const study::SettingRule& rule = of.rule;
  if (rule.rule == "fixed") return fmt::format("the fit's runs: fixed{}", range_of(rule));
  if (rule.rule == "mup")
    return fmt::format("the fit's runs: muP from a base of width {}{}", runs.mup_base_width,
                       range_of(rule));
  if (rule.rule == "width")
    return fmt::format("the fit's runs: {} at width {}{}", shown(rule.value, 3), runs.base_width,
                       range_of(rule));
  return fmt::format("the fit's runs: {}{}", rule.rule,
                     rule.value == 1 ? "" : fmt::format(" times {}", shown(rule.value, 3)));
}

double value_of(const FittedSetting& of, const study::RunSettings& runs, const Proposal& p,
                double Hyperparameters::*field) {
  if (goes_by_best(of)) return of.best.at(p.n, p.tokens);
  const study::SettingRule& rule = of.rule;
  if (rule.rule == "fixed" || rule.rule == "mup") return rule.value;
  if (rule.rule == "width") return rule.value * runs.base_width / p.model.d_model;
  return rule.value * hyperparameters(rule.rule, p.counts, p.tokens).*field;
}

double settled_value(const FittedSetting& of, const study::RunSettings& runs, const Plan& plan,
                     const std::string& rule, double Hyperparameters::*field) {
  const Proposal& p = plan.proposal;
  const double value = rule == kRuleOfFit ? value_of(of, runs, p, field)
                                          : hyperparameters(rule, p.counts, p.tokens).*field;
  require(std::isfinite(value) && value > 0,
          "{}={} says nothing of the {} of {:.4g} parameters on {:.4g} tokens; take another of {}",
          of.option, rule, of.what, p.counts.all, p.tokens,
          fmt::join(hyperparameter_rules(), ", "));
  return value;
}

void warn_of_width(Plan& plan, const study::RunSettings& runs) {
  const int64_t width = plan.proposal.model.d_model;
  const bool moves = runs.best_lr.valid() && runs.best_lr.n_exponent != 0;
  const bool one_rate = runs.lr.rule == "fixed" || (!runs.lr.known() && runs.best_lr.valid());
  if (moves || !one_rate || runs.widest == 0 || width <= kMuchWider * runs.widest) return;
  plan_warning(plan,
               "the runs of {} had one learning rate at all sizes, up to a width of {}; this model "
               "is {} wide, and what was right for narrow models is often too much for wide ones: "
               "try a few below {:.3g}, or sweep by sweep.lr_rule=mup or width",
               plan.options.fit, runs.widest, width, plan.settings.lr);
}

}  // namespace

void settle_rules(Plan& plan) {
  PlanOptions& o = plan.options;
  const study::RunSettings runs = known_of(plan.law);
  settle_rule(plan, {"plan.lr_rule", "learning rate", runs.lr, runs.best_lr}, o.lr_rule);
  settle_rule(plan, {"plan.batch_rule", "batch", runs.batch, runs.best_batch}, o.batch_rule);
  if (o.lr_rule == kRuleOfFit) take_over_mup(plan, runs);
}

void settle_settings(Plan& plan) {
  const PlanOptions& o = plan.options;
  const study::RunSettings runs = known_of(plan.law);
  const FittedSetting lr{"plan.lr_rule", "learning rate", runs.lr, runs.best_lr},
      batch{"plan.batch_rule", "batch", runs.batch, runs.best_batch};
  plan.settings.lr = settled_value(lr, runs, plan, o.lr_rule, &Hyperparameters::lr);
  plan.settings.batch_tokens =
      settled_value(batch, runs, plan, o.batch_rule, &Hyperparameters::batch_tokens);
  plan.lr_origin = o.lr_rule == kRuleOfFit ? origin_of(lr, runs) : o.lr_rule;
  plan.batch_origin = o.batch_rule == kRuleOfFit ? origin_of(batch, runs) : o.batch_rule;
  if (o.lr_rule == kRuleOfFit) warn_of_width(plan, runs);
}

}  // namespace skein::scaling::plan
