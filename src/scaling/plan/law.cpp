#include <cmath>
#include <limits>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strings.h"
#include "skein/scaling/plan/plan.h"
#include "skein/scaling/study/study.h"

#include "scaling/laws/json_file.h"
#include "scaling/study/names.h"
#include "scaling/study/trained_with_json.h"

namespace skein::scaling::plan {
namespace {

using Json = nlohmann::json;

template <class E>
E named(const std::string& word, std::initializer_list<E> all, const std::string& path) {
  for (const E one : all)
    if (study::name_of(one) == word) return one;
  fail_usage("{}: there is no way of counting called '{}'", path, word);
}

double number_or_unknown(const Json& json) {
  return json.is_number() ? json.get<double>() : kUnknown;
}

void read_context(const Json& json, PlanLaw& law) {
  const Json& main = json.at("main");
  law.convention.parameters = named(main.at("parameters").get<std::string>(),
                                    {ParameterCount::given, ParameterCount::blocks,
                                     ParameterCount::blocks_head, ParameterCount::all},
                                    law.name);
  law.convention.flops = named(
      main.at("flops").get<std::string>(),
      {FlopCount::given, FlopCount::six_n, FlopCount::six_n_head, FlopCount::exact}, law.name);
  const Json& ratio = main.at("flops_per_token");
  law.flops_per_token = {ratio.at("coefficient").get<double>(), ratio.at("exponent").get<double>()};
  require(law.flops_per_token.coefficient > 0 && law.flops_per_token.exponent > 0,
          "{}: FLOPs per token of {} N^{} do not grow with N", law.name,
          law.flops_per_token.coefficient, law.flops_per_token.exponent);
  const Json& target = json.at("target");
  if (!target.is_object()) return;
  const double largest =
      number_or_unknown(target.at("flops")) / number_or_unknown(target.at("beyond"));
  if (std::isfinite(largest) && largest > 0) law.largest_flops = largest;
}

// R_D and R_N of the runs themselves, where they show them.
void read_repeats(const Json& json, PlanLaw& law) {
  const Json beside = json.value("data_limited", Json::object());
  const Json fit = beside.value("fit", Json());
  if (!fit.is_object() || !fit.at("convergence").at("converged").get<bool>()) {
    const std::string why = fit.is_object() ? fit.at("convergence").at("problem").get<std::string>()
                                            : beside.value("problem", "");
    law.repeats = fmt::format("R_D {}, R_N {} as published, for the fit has none of its own{}{}",
                              law.r_d, law.r_n, why.empty() ? "" : ": ", why);
    return;
  }
  law.r_d = fit.at("RD").at("value").get<double>();
  const Json& r_n = fit.at("RN").at("value");
  law.r_n = r_n.is_null() ? std::numeric_limits<double>::infinity() : r_n.get<double>();
  require(law.r_d > 0 && std::isfinite(law.r_d) && law.r_n > 0,
          "{}: RD {} and RN {} must be above 0", law.name, law.r_d, law.r_n);
  law.repeats = fmt::format("R_D {:.4g}{}, of the fit's own runs", law.r_d,
                            r_n.is_null() ? "" : fmt::format(", R_N {:.4g}", law.r_n));
}

void check_optimum(const PlanLaw& law) {
  const fit::Convergence& proof = law.fit.convergence;
  require(proof.converged,
          "{}: approach 3 has not converged ({}), so there is nothing to plan by; fit more runs, "
          "or give plan.law",
          law.name, proof.problem);
  require(std::isfinite(law.n_exponent.value),
          "{}: approach 3 names no best size for a budget under this way of counting (its warnings "
          "say why); fit with other fit.parameters and fit.flops, or give plan.law",
          law.name);
}

std::string draws_text(const fit::ParametricFit& fit) {
  if (fit.draws.empty()) return "none: the fit was made without resamples (fit.resamples=0)";
  return fmt::format("95% of {} bootstrap fits over its runs", fit.draws.size());
}

}  // namespace

PlanLaw fitted_plan_law(const std::string& path) {
  PlanLaw law;
  law.name = path;
  law.source = "approach 3 of `skein fit`";
  law.fit = study::read_fit(path);
  law.n_exponent = law.fit.n_exponent;
  check_optimum(law);
  try {
    const Json json =
        Json::parse(json_file_text(path, "the JSON file that `skein fit --output.path` wrote"));
    read_context(json, law);
    if (const auto found = json.find("trained_with"); found != json.end())
      law.trained_with = study::trained_with_of(*found, law.name);
    read_repeats(json, law);
  } catch (const Json::exception& error) {
    fail_usage("{} is no fit that `skein fit --output.path` wrote: {}", path,
               json_fault(error.what()));
  }
  law.intervals = draws_text(law.fit);
  return law;
}

double kaplan_loss(double blocks, double flops) {
  constexpr double kN = 0.077, kS = 0.76, kNc = 6.5e13, kSc = 2.1e3, kBatch = 2e8,
                   kLossPower = 4.76;
  const double size_part = std::pow(kNc / blocks, kN);
  // The right side falls as the loss grows, so the two meet once.
  const auto excess = [&](double loss) {
    return loss - size_part -
           std::pow(kSc * 6 * blocks * kBatch * std::pow(loss, -kLossPower) / flops, kS);
  };
  double low = size_part, high = size_part + 1;
  while (excess(high) < 0) high *= 2;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (excess(middle) < 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace skein::scaling::plan
