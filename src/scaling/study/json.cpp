#include "json.h"

#include <fmt/format.h>

#include "skein/core/version.h"

#include "names.h"
#include "numbers.h"
#include "trained_with_json.h"

namespace skein::scaling::study {
namespace {

using OrderedJson = nlohmann::ordered_json;  // which writes null for what is not finite
using study::json_of;                        // of an interval, beside those below

OrderedJson json_of(const PowerLaw& law) {
  return {{"coefficient", law.coefficient}, {"exponent", law.exponent}};
}

OrderedJson json_of(const fit::PowerFit& fit) {
  return {{"coefficient", json_of(fit.coefficient)}, {"exponent", json_of(fit.exponent)}};
}

OrderedJson json_of(const fit::Convergence& c) {
  return {{"converged", c.converged},         {"problem", c.problem},
          {"gradient_norm", c.gradient_norm}, {"starts", c.starts},
          {"best_share", c.best_share},       {"condition", c.condition},
          {"second_solver", c.second_solver}};
}

// What the fits of most laws say: their numbers, then how they were found.
template <class Fit>
OrderedJson law_json(const Fit& fit) {
  OrderedJson made;
  for (const NamedNumber& number : numbers_of(fit)) made[number.name] = json_of(number.interval);
  if constexpr (requires { fit.objective; }) made["objective"] = fit.objective;
  made["convergence"] = json_of(fit.convergence);
  made["failed_draws"] = fit.failed_draws;
  return made;
}

OrderedJson json_of(const fit::OffsetPowerFit& fit) { return law_json(fit); }
OrderedJson json_of(const fit::KaplanFit& fit) { return law_json(fit); }
OrderedJson json_of(const fit::OverTrainingFit& fit) { return law_json(fit); }

OrderedJson json_of(const ChinchillaLaw& law) {
  OrderedJson made;
  for (const LawNumber& number : kLawNumbers) made[number.name] = law.*number.value;
  return made;
}

OrderedJson json_of(const fit::DataLimitedFit& fit) {
  OrderedJson made = json_of(fit.law.law);
  made.update({{"fresh_convergence", json_of(fit.fresh.convergence)},
               {"RD", json_of(fit.r_d)},
               {"RN", json_of(fit.r_n)},
               {"RN_problem", fit.r_n_problem},
               {"repeated", fit.repeated},
               {"objective", fit.objective},
               {"convergence", json_of(fit.convergence)},
               {"failed_draws", fit.failed_draws}});
  return made;
}

OrderedJson json_of(const fit::ParametricFit& fit) {
  OrderedJson made = json_of(fit.law), intervals;
  for (const LawNumber& number : kLawNumbers)
    intervals[number.name] = json_of(fit.*number.interval);
  made.update({{"objective", fit.objective},
               {"convergence", json_of(fit.convergence)},
               {"intervals", intervals},
               {"failed_draws", fit.failed_draws}});
  return made;
}

OrderedJson json_of(const fit::IsoflopBudget& budget) {
  return {{"flops", budget.flops},
          {"runs", budget.points.size()},
          {"n", budget.n},
          {"d", budget.d},
          {"loss", budget.loss},
          {"curvature", budget.curvature},
          {"half_width", budget.half_width},
          {"centre_offset", budget.centre_offset},
          {"n_bias", budget.n_bias},
          {"d_bias", budget.d_bias},
          {"problem", budget.problem}};
}

OrderedJson json_of(const ConventionStudy& study);
OrderedJson json_of(const TargetPrediction& target);
OrderedJson json_of(const HeldOutFit& held);
OrderedJson json_of(const CriticalBatchPoint& point);

template <class Items>
OrderedJson each(const Items& items) {
  OrderedJson list = OrderedJson::array();
  for (const auto& item : items) list.push_back(json_of(item));
  return list;
}

// What approaches 1 and 2 both say, after what is their own.
template <class Fit>
OrderedJson with_powers(OrderedJson own, const Fit& fit) {
  own.update({{"n_of_c", json_of(fit.n_of_c)},
              {"d_of_c", json_of(fit.d_of_c)},
              {"loss_of_c", json_of(fit.loss_of_c)},
              {"offset_loss_of_c", json_of(fit.offset_loss_of_c)},
              {"resamples", fit.resamples},
              {"failed_draws", fit.failed_draws}});
  return own;
}

OrderedJson json_of(const fit::IsoflopFit& fit) {
  return with_powers({{"problem", fit.problem}, {"budgets", each(fit.budgets)}}, fit);
}

OrderedJson json_of(const fit::EnvelopeFit& fit) {
  return with_powers({{"problem", fit.problem},
                      {"from_curves", fit.from_curves},
                      {"budgets", fit.budgets},
                      {"points", fit.envelope.size()}},
                     fit);
}

template <class Fit>
OrderedJson json_of(const std::optional<Fit>& fit) {
  return fit ? json_of(*fit) : OrderedJson(nullptr);
}

template <class Fit>
OrderedJson json_of(const OtherLaw<Fit>& law) {
  return {{"problem", law.problem}, {"fit", json_of(law.fit)}};
}

OrderedJson json_of(const ConventionStudy& study) {
  return {{"parameters", name_of(study.convention.parameters)},
          {"flops", name_of(study.convention.flops)},
          {"name", name(study.convention)},
          {"points", study.points.size()},
          {"curve_points", study.curve_points.size()},
          {"flops_per_token", json_of(study.flops_per_token)},
          {"n_exponent", json_of(study.n_exponent)},
          {"d_exponent", json_of(study.d_exponent)},
          {"envelope", json_of(study.envelope)},
          {"isoflop", json_of(study.isoflop)},
          {"parametric", json_of(study.parametric)},
          {"parametric_problem", study.parametric_problem}};
}

OrderedJson json_of(const ScalingTable& table) {
  OrderedJson left_out = OrderedJson::array();
  for (const ScalingRun& run : table.runs)
    if (run.status != "done")
      left_out.push_back(
          {{"run", run.name}, {"line", run.line}, {"status", run.status}, {"reason", run.reason}});
  return {{"path", table.path}, {"runs", table.runs.size()}, {"left_out", left_out}};
}

OrderedJson json_of(const HeldOutFit& held) {
  return {{"law", held.law},
          {"budget", held.budget},
          {"fitted", held.fitted},
          {"held_out", held.held_out},
          {"mean_error", held.mean_error},
          {"worst_error", held.worst_error},
          {"converged", held.converged},
          {"problem", held.problem}};
}

OrderedJson json_of(const TargetPrediction& target) {
  OrderedJson made{{"flops", target.flops}, {"beyond", target.beyond}};
  const auto add = [&](const std::string& prefix, const Prediction& by) {
    for (const TargetNumber& one : kTargetNumbers) made[prefix + one.key] = json_of(by.*one.value);
  };
  add("", target.parametric);
  add("isoflop_", target.isoflop);
  add("envelope_", target.envelope);
  return made;
}

OrderedJson outliers_json(const Study& study) {
  OrderedJson list = OrderedJson::array();
  for (const Outlier& one : study.outliers) {
    const ScalingRun& run = study.table.runs[one.run];
    list.push_back({{"run", run.name},
                    {"line", run.line},
                    {"found", one.found},
                    {"predicted", one.predicted}});
  }
  return list;
}

OrderedJson json_of(const CriticalBatchPoint& point) {
  return {{"n", point.n_all},
          {"loss", point.loss},
          {"batch", point.batch},
          {"least_tokens", point.least_tokens},
          {"batches", point.batches}};
}

OrderedJson json_of(const StudyOptions& options) {
  return {{"law", name_of(options.law)},
          {"loss", name_of(options.parametric.kind)},
          {"delta", options.parametric.delta},
          {"every_start", options.parametric.every_start},
          {"resamples", options.parametric.resamples},
          {"seed", options.parametric.seed},
          {"budget_tolerance", options.isoflop.tolerance},
          {"budget_runs", options.isoflop.fewest_runs}};
}

OrderedJson draws_of(const fit::ParametricFit& fit) {
  OrderedJson draws = OrderedJson::array();
  for (const ChinchillaLaw& law : fit.draws)
    draws.push_back({law.e, law.a, law.b, law.alpha, law.beta});
  return draws;
}

OrderedJson json_of(const CriticalBatchFit& fit) {
  return {{"problem", fit.problem},
          {"points", each(fit.points)},
          {"of_loss", fit.valid() ? json_of(fit.of_loss) : OrderedJson(nullptr)}};
}

// Thousands of draws go on one line; all else is for reading.
constexpr const char* kDrawsHere = "\"draws go here\"";

}  // namespace

OrderedJson json_of(const fit::Interval& interval) {
  return {{"value", interval.value},
          {"low", interval.low},
          {"high", interval.high},
          {"error", interval.error}};
}

OrderedJson json_of(const Study& study) {
  OrderedJson made{{"skein_fit", 1},
                   {"version", std::string(kVersion)},
                   {"table", json_of(study.table)},
                   {"options", json_of(study.options)},
                   {"warnings", study.warnings},
                   {"main", json_of(study.main)},
                   {"others", each(study.others)},
                   {"with_excluded", json_of(study.with_excluded)},
                   {"comparison", each(study.comparison)}};
  for (const NamedSingleLaw& law : kSingleLaws)
    made[fmt::format("loss_of_{}", law.key)] = json_of((study.*law.fits).offset);
  for (const NamedSingleLaw& law : kSingleLaws)
    made[fmt::format("power_of_{}", law.key)] = json_of((study.*law.fits).power);
  for (const NamedSingleLaw& law : kSingleLaws)
    made[fmt::format("loss_of_{}_problem", law.key)] = (study.*law.fits).problem;
  made["kaplan"] = json_of(study.kaplan);
  made["over_training"] = json_of(study.over_training);
  made["data_limited"] = json_of(study.data_limited);
  made["critical_batch"] = json_of(study.critical_batch);
  made["outliers"] = outliers_json(study);
  made["trained_with"] = json_of(study.trained_with);
  made["target"] = json_of(study.target);
  return made;
}

std::string study_json(const Study& study) {
  OrderedJson json = json_of(study);
  json["draws"] = OrderedJson::parse(kDrawsHere);
  std::string text = json.dump(1, ' ', false, OrderedJson::error_handler_t::replace);
  const std::string draws = study.main.parametric ? draws_of(*study.main.parametric).dump() : "[]";
  return text.replace(text.rfind(kDrawsHere), std::string(kDrawsHere).size(), draws) + "\n";
}

}  // namespace skein::scaling::study
