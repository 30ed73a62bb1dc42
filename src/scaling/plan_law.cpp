#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "skein/core/error.h"
#include "skein/scaling/plan.h"
#include "skein/scaling/study.h"
#include "study_names.h"

namespace skein {
namespace {

using Json = nlohmann::json;

// The largest run behind each law: Kaplan's 1.5e9 parameters on 2.3e10 tokens; the last point of Hoffmann's figure 4, as Besiroglu et al.
// (2024) read it; Muennighoff's 8.7e9 parameters on 1.78e11 tokens.
double largest_of(const std::string& name) {
  if (name == "kaplan") return 6 * 1.5e9 * 2.3e10;
  if (name == "muennighoff") return 6 * 8.7e9 * 1.78e11;
  return 1.2956e22;
}

template <class E>
E named(const std::string& word, std::initializer_list<E> all, const std::string& path) {
  for (const E one : all)
    if (name_of(one) == word) return one;
  fail_usage("{}: there is no way of counting called '{}'", path, word);
}

double number_or_unknown(const Json& json) { return json.is_number() ? json.get<double>() : kUnknown; }

void read_context(const Json& json, PlanLaw& law) {
  const Json& main = json.at("main");
  law.convention.parameters = named(main.at("parameters").get<std::string>(),
                                    {ParameterCount::given, ParameterCount::blocks, ParameterCount::blocks_head, ParameterCount::all}, law.name);
  law.convention.flops =
      named(main.at("flops").get<std::string>(), {FlopCount::given, FlopCount::six_n, FlopCount::six_n_head, FlopCount::exact}, law.name);
  const Json& ratio = main.at("flops_per_token");
  law.flops_per_token = {ratio.at("coefficient").get<double>(), ratio.at("exponent").get<double>()};
  require(law.flops_per_token.coefficient > 0 && law.flops_per_token.exponent > 0, "{}: FLOPs per token of {} N^{} do not grow with N", law.name,
          law.flops_per_token.coefficient, law.flops_per_token.exponent);
  const Json& target = json.at("target");
  if (target.is_object()) law.largest_flops = number_or_unknown(target.at("flops")) / number_or_unknown(target.at("beyond"));
}

}  // namespace

PlanLaw published_plan_law(const std::string& name) {
  std::string names;
  for (const PublishedLaw& published : published_laws()) {
    names += (names.empty() ? "" : ", ") + published.name;
    if (published.name != name) continue;
    PlanLaw law;
    law.name = name;
    law.source = published.source;
    law.kaplan = name == "kaplan";
    law.convention = {law.kaplan ? ParameterCount::blocks : ParameterCount::all, FlopCount::six_n};
    law.fit.law = published.law;
    law.fit.convergence.converged = true;
    law.largest_flops = largest_of(name);
    return law;
  }
  fail_usage("plan.law={} is not known; there are {}; or give plan.fit=FILE.json of `skein fit`", name, names);
}

PlanLaw fitted_plan_law(const std::string& path) {
  PlanLaw law;
  law.name = path;
  law.source = "approach 3 of `skein fit`";
  law.fit = read_fit(path);
  std::ifstream file(path, std::ios::binary);
  try {
    read_context(Json::parse(file), law);
  } catch (const Json::exception& error) {
    fail_usage("{} is no fit that `skein fit --output.path` wrote: {}", path, error.what());
  }
  return law;
}

double kaplan_loss(double blocks, double flops) {
  constexpr double kN = 0.077, kS = 0.76, kNc = 6.5e13, kSc = 2.1e3, kBatch = 2e8, kLossPower = 4.76;
  const double size_part = std::pow(kNc / blocks, kN);
  // The right side falls as the loss grows, so the two meet once.
  const auto excess = [&](double loss) {
    return loss - size_part - std::pow(kSc * 6 * blocks * kBatch * std::pow(loss, -kLossPower) / flops, kS);
  };
  double low = size_part, high = size_part + 1;
  while (excess(high) < 0) high *= 2;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (excess(middle) < 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

Optimum optimum_at(const ChinchillaLaw& law, double flops, const PowerLaw& per_token) {
  const double q = per_token.exponent, power = 1 / (law.alpha + q * law.beta), ln_budget = std::log(flops / per_token.coefficient);
  const double ln_n = power * (std::log(law.alpha * law.a) - std::log(q * law.beta * law.b) + law.beta * ln_budget);
  Optimum best;
  best.n = std::exp(ln_n);
  best.d = std::exp(ln_budget - q * ln_n);
  best.loss = law.loss(best.n, best.d);
  return best;
}

}  // namespace skein
