#include "skein/core/json.h"

#include <cmath>

#include "skein/core/version.h"
#include "skein/scaling/study/study.h"

#include "names.h"
#include "trained_with_json.h"

namespace skein {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(const Interval& interval) {
  return {{"value", number(interval.value)},
          {"low", number(interval.low)},
          {"high", number(interval.high)},
          {"error", number(interval.error)}};
}

Json json_of(const PowerLaw& law) {
  return {{"coefficient", number(law.coefficient)}, {"exponent", number(law.exponent)}};
}

Json json_of(const PowerFit& fit) {
  return {{"coefficient", json_of(fit.coefficient)}, {"exponent", json_of(fit.exponent)}};
}

Json json_of(const Convergence& c) {
  return {{"converged", c.converged},
          {"problem", c.problem},
          {"gradient_norm", number(c.gradient_norm)},
          {"starts", c.starts},
          {"best_share", number(c.best_share)},
          {"condition", number(c.condition)},
          {"second_solver", number(c.second_solver)}};
}

Json json_of(const OffsetPowerFit& fit) {
  return {{"E", json_of(fit.e)},
          {"k", json_of(fit.k)},
          {"p", json_of(fit.p)},
          {"convergence", json_of(fit.convergence)},
          {"failed_draws", fit.failed_draws}};
}

Json json_of(const KaplanFit& fit) {
  return {{"aN", json_of(fit.a_n)},
          {"aD", json_of(fit.a_d)},
          {"Nc", json_of(fit.n_c)},
          {"Dc", json_of(fit.d_c)},
          {"objective", number(fit.objective)},
          {"convergence", json_of(fit.convergence)},
          {"failed_draws", fit.failed_draws}};
}

Json json_of(const OverTrainingFit& fit) {
  return {{"E", json_of(fit.e)},
          {"a", json_of(fit.a)},
          {"b", json_of(fit.b)},
          {"h", json_of(fit.h)},
          {"objective", number(fit.objective)},
          {"convergence", json_of(fit.convergence)},
          {"failed_draws", fit.failed_draws}};
}

Json json_of(const DataLimitedFit& fit) {
  const ChinchillaLaw& law = fit.law.law;
  return {{"E", number(law.e)},
          {"A", number(law.a)},
          {"B", number(law.b)},
          {"alpha", number(law.alpha)},
          {"beta", number(law.beta)},
          {"fresh_convergence", json_of(fit.fresh.convergence)},
          {"RD", json_of(fit.r_d)},
          {"RN", json_of(fit.r_n)},
          {"RN_problem", fit.r_n_problem},
          {"repeated", fit.repeated},
          {"objective", number(fit.objective)},
          {"convergence", json_of(fit.convergence)},
          {"failed_draws", fit.failed_draws}};
}

Json json_of(const ParametricFit& fit) {
  return {{"E", number(fit.law.e)},
          {"A", number(fit.law.a)},
          {"B", number(fit.law.b)},
          {"alpha", number(fit.law.alpha)},
          {"beta", number(fit.law.beta)},
          {"objective", number(fit.objective)},
          {"convergence", json_of(fit.convergence)},
          {"intervals",
           {{"E", json_of(fit.e)},
            {"A", json_of(fit.a)},
            {"B", json_of(fit.b)},
            {"alpha", json_of(fit.alpha)},
            {"beta", json_of(fit.beta)}}},
          {"failed_draws", fit.failed_draws}};
}

Json json_of(const IsoflopBudget& budget) {
  return {{"flops", number(budget.flops)},
          {"runs", budget.points.size()},
          {"n", number(budget.n)},
          {"d", number(budget.d)},
          {"loss", number(budget.loss)},
          {"curvature", number(budget.curvature)},
          {"half_width", number(budget.half_width)},
          {"centre_offset", number(budget.centre_offset)},
          {"n_bias", number(budget.n_bias)},
          {"d_bias", number(budget.d_bias)},
          {"problem", budget.problem}};
}

Json json_of(const IsoflopFit& fit) {
  Json budgets = Json::array();
  for (const IsoflopBudget& budget : fit.budgets) budgets.push_back(json_of(budget));
  return {{"problem", fit.problem},
          {"budgets", budgets},
          {"n_of_c", json_of(fit.n_of_c)},
          {"d_of_c", json_of(fit.d_of_c)},
          {"loss_of_c", json_of(fit.loss_of_c)},
          {"offset_loss_of_c", json_of(fit.offset_loss_of_c)},
          {"resamples", fit.resamples},
          {"failed_draws", fit.failed_draws}};
}

Json json_of(const EnvelopeFit& fit) {
  return {{"problem", fit.problem},
          {"from_curves", fit.from_curves},
          {"budgets", fit.budgets},
          {"points", fit.envelope.size()},
          {"n_of_c", json_of(fit.n_of_c)},
          {"d_of_c", json_of(fit.d_of_c)},
          {"loss_of_c", json_of(fit.loss_of_c)},
          {"offset_loss_of_c", json_of(fit.offset_loss_of_c)},
          {"resamples", fit.resamples},
          {"failed_draws", fit.failed_draws}};
}

Json json_of(const ConventionStudy& study);
Json json_of(const TargetPrediction& target);

template <class Fit>
Json json_of(const std::optional<Fit>& fit) {
  return fit ? json_of(*fit) : Json(nullptr);
}

template <class Fit>
Json json_of(const LawBeside<Fit>& law) {
  return {{"problem", law.problem}, {"fit", json_of(law.fit)}};
}

Json json_of(const ConventionStudy& study) {
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

Json json_of(const ScalingTable& table) {
  Json left_out = Json::array();
  for (const ScalingRun& run : table.runs)
    if (run.status != "done")
      left_out.push_back(
          {{"run", run.name}, {"line", run.line}, {"status", run.status}, {"reason", run.reason}});
  return {{"path", table.path}, {"runs", table.runs.size()}, {"left_out", left_out}};
}

Json json_of(const HeldOut& held) {
  return {{"law", held.law},
          {"budget", number(held.budget)},
          {"fitted", held.fitted},
          {"held_out", held.held_out},
          {"mean_error", number(held.mean_error)},
          {"worst_error", number(held.worst_error)},
          {"converged", held.converged},
          {"problem", held.problem}};
}

Json json_of(const TargetPrediction& target) {
  return {{"flops", number(target.flops)},
          {"beyond", number(target.beyond)},
          {"n", json_of(target.n)},
          {"d", json_of(target.d)},
          {"ratio", json_of(target.ratio)},
          {"loss", json_of(target.loss)},
          {"isoflop_n", json_of(target.isoflop_n)},
          {"isoflop_d", json_of(target.isoflop_d)},
          {"isoflop_ratio", json_of(target.isoflop_ratio)},
          {"isoflop_loss", json_of(target.isoflop_loss)},
          {"envelope_n", json_of(target.envelope_n)},
          {"envelope_d", json_of(target.envelope_d)},
          {"envelope_ratio", json_of(target.envelope_ratio)},
          {"envelope_loss", json_of(target.envelope_loss)}};
}

Json json_of(const Outlier& one, const ScalingTable& table) {
  const ScalingRun& run = table.runs[static_cast<size_t>(one.run)];
  return {{"run", run.name},
          {"line", run.line},
          {"found", number(one.found)},
          {"predicted", number(one.predicted)}};
}

Json outliers_of(const Study& study) {
  Json list = Json::array();
  for (const Outlier& one : study.outliers) list.push_back(json_of(one, study.table));
  return list;
}

Json json_of(const CriticalBatchPoint& point) {
  return {{"n", number(point.n_all)},
          {"loss", number(point.loss)},
          {"batch", number(point.batch)},
          {"least_tokens", number(point.least_tokens)},
          {"batches", point.batches}};
}

Json json_of(const StudyOptions& options) {
  return {{"law", name_of(options.law)},
          {"loss", name_of(options.parametric.kind)},
          {"delta", options.parametric.delta},
          {"every_start", options.parametric.every_start},
          {"resamples", options.parametric.resamples},
          {"seed", options.parametric.seed},
          {"budget_tolerance", options.isoflop.tolerance},
          {"budget_runs", options.isoflop.fewest_runs}};
}

Json draws_of(const ParametricFit& fit) {
  Json draws = Json::array();
  for (const ChinchillaLaw& law : fit.draws)
    draws.push_back(
        {number(law.e), number(law.a), number(law.b), number(law.alpha), number(law.beta)});
  return draws;
}

template <class Items>
Json each(const Items& items) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(json_of(item));
  return list;
}

Json json_of(const CriticalBatchFit& fit) {
  return {{"problem", fit.problem},
          {"points", each(fit.points)},
          {"of_loss", fit.valid() ? json_of(fit.of_loss) : Json(nullptr)}};
}

// Thousands of draws go on one line; all else is for reading.
constexpr const char* kDrawsHere = "\"draws go here\"";

}  // namespace

std::string study_json(const Study& study) {
  Json json{{"skein_fit", 1},
            {"version", std::string(kVersion)},
            {"table", json_of(study.table)},
            {"options", json_of(study.options)},
            {"warnings", study.warnings},
            {"main", json_of(study.main)},
            {"others", each(study.others)},
            {"with_excluded", json_of(study.with_excluded)},
            {"comparison", each(study.comparison)},
            {"loss_of_n", json_of(study.loss_of_n)},
            {"loss_of_d", json_of(study.loss_of_d)},
            {"loss_of_c", json_of(study.loss_of_c)},
            {"power_of_n", json_of(study.power_of_n)},
            {"power_of_d", json_of(study.power_of_d)},
            {"power_of_c", json_of(study.power_of_c)},
            {"loss_of_n_problem", study.loss_of_n_problem},
            {"loss_of_d_problem", study.loss_of_d_problem},
            {"loss_of_c_problem", study.loss_of_c_problem},
            {"kaplan", json_of(study.kaplan)},
            {"over_training", json_of(study.over_training)},
            {"data_limited", json_of(study.data_limited)},
            {"critical_batch", json_of(study.critical_batch)},
            {"outliers", outliers_of(study)},
            {"trained_with", json_of(study.trained_with)},
            {"target", json_of(study.target)},
            {"draws", Json::parse(kDrawsHere)}};
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  const std::string draws = study.main.parametric ? draws_of(*study.main.parametric).dump() : "[]";
  return text.replace(text.rfind(kDrawsHere), std::string(kDrawsHere).size(), draws) + "\n";
}

}  // namespace skein
