#include <cmath>
#include <fmt/ranges.h>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"
#include "skein/scaling/study/study.h"

#include "numbers.h"
#include "scaling/laws/json_file.h"

namespace skein::scaling::study {
namespace {

using Json = nlohmann::json;

constexpr int kFitVersion = 1;

double number_of(const Json& json, const char* key) {
  const Json& value = json.at(key);
  return value.is_null() ? kUnknown : value.get<double>();
}

fit::Interval interval_of(const Json& json) {
  return {number_of(json, "value"), number_of(json, "low"), number_of(json, "high"),
          number_of(json, "error")};
}

fit::Convergence convergence_of(const Json& json, const std::string& path) {
  fit::Convergence read;
  read.converged = json.at("converged").get<bool>();
  read.problem = json.at("problem").get<std::string>();
  read.gradient_norm = number_of(json, "gradient_norm");
  read.starts = whole<int64_t>(json.at("starts"), "starts", path);
  read.best_share = number_of(json, "best_share");
  read.condition = number_of(json, "condition");
  read.second_solver = number_of(json, "second_solver");
  return read;
}

bool sound(const ChinchillaLaw& law) {
  for (const double value : {law.a, law.b, law.alpha, law.beta})
    if (!std::isfinite(value) || value <= 0) return false;
  return std::isfinite(law.e) && law.e >= 0;
}

ChinchillaLaw law_of(const std::vector<double>& values, const std::string& path) {
  require(values.size() == 5, "{}: a draw has {} numbers instead of 5", path, values.size());
  const ChinchillaLaw law{values[0], values[1], values[2], values[3], values[4]};
  require(
      sound(law),
      "{}: a draw of {} is no law: E must not be negative, A, B, alpha and beta must be above 0",
      path, fmt::join(values, ", "));
  return law;
}

void check_version(const Json& version, const std::string& path) {
  require(version == kFitVersion,
          "{} says \"skein_fit\": {}; this version reads {}. Write it anew with `skein fit "
          "--output.path`",
          path, version.dump(), kFitVersion);
}

fit::ParametricFit fit_of(const Json& json, const std::string& path) {
  const Json& main = json.at("main");
  require(!main.at("parametric").is_null(), "{} has no fit of approach 3: {}", path,
          main.at("parametric_problem").get<std::string>());
  const Json& read = main.at("parametric");
  const Json& intervals = read.at("intervals");
  fit::ParametricFit fit;
  for (const LawNumber& one : kLawNumbers) fit.law.*one.value = number_of(read, one.name);
  fit.objective = number_of(read, "objective");
  fit.convergence = convergence_of(read.at("convergence"), path);
  require(sound(fit.law),
          "{}: E, A, B, alpha and beta are no law: they must be finite and above 0{}", path,
          fit.convergence.converged
              ? ""
              : fmt::format(" (the fit has not converged: {})", fit.convergence.problem));
  for (const LawNumber& one : kLawNumbers) fit.*one.interval = interval_of(intervals.at(one.name));
  fit.n_exponent = interval_of(main.at("n_exponent"));
  fit.failed_draws = whole<int64_t>(read.at("failed_draws"), "failed_draws", path);
  // What nobody can go by needs no intervals, and its draws may be anything.
  if (!fit.convergence.converged) return fit;
  for (const Json& draw : json.at("draws"))
    fit.draws.push_back(law_of(draw.get<std::vector<double>>(), path));
  return fit;
}

}  // namespace

fit::ParametricFit read_fit(const std::string& json_path) {
  const std::string bytes =
      json_file_text(json_path, "the JSON file that `skein fit --output.path` wrote");
  try {
    const Json json = Json::parse(bytes);
    require(json.is_object() && json.contains("skein_fit"),
            "{} is no fit; give the JSON file that `skein fit --output.path` wrote", json_path);
    check_version(json.at("skein_fit"), json_path);
    return fit_of(json, json_path);
  } catch (const Json::exception& error) {
    fail_usage("{} is no fit that `skein fit --output.path` wrote: {}", json_path,
               json_fault(error.what()));
  }
}

}  // namespace skein::scaling::study
