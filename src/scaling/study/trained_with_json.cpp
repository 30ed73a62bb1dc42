#include "trained_with_json.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/strict_json.h"
#include "skein/scaling/laws/shape.h"

namespace skein::scaling::study {
namespace {

using OrderedJson = nlohmann::ordered_json;  // which writes null for what is not finite
using Json = nlohmann::json;

constexpr int64_t kMostWhole = 9'000'000'000'000'000;
constexpr double kMostValue = 1e15, kMostReadExponent = 100;

OrderedJson json_of(const SettingRule& rule) {
  return {{"rule", rule.rule}, {"value", rule.value}, {"low", rule.low}, {"high", rule.high}};
}

OrderedJson json_of(const BestSetting& best) {
  return {{"problem", best.problem},
          {"coefficient", best.coefficient},
          {"n_exponent", best.n_exponent},
          {"d_exponent", best.d_exponent},
          {"cells", best.cells}};
}

int64_t whole_or_none(const Json& json, const char* key, const std::string& path) {
  if (json.at(key).is_null()) return 0;
  const auto value = whole<int64_t>(json.at(key), key, path);
  require(value > 0 && value <= kMostWhole, "{}: \"{}\" is {}; it is 1 to {}, or null", path, key,
          value, kMostWhole);
  return value;
}

double within(const Json& json, const char* key, double least, double most,
              const std::string& path) {
  const double value = json.at(key).get<double>();
  require(value >= least && value <= most, "{}: \"{}\" is {}; it lies between {} and {}", path, key,
          value, least, most);
  return value;
}

// The whole numbers of a study's runs; 0 is none.
constexpr std::pair<const char*, int64_t RunSettings::*> kWholes[] = {
    {"vocab_size", &RunSettings::vocab_size},
    {"widest", &RunSettings::widest},
    {"base_width", &RunSettings::base_width},
    {"mup_base_width", &RunSettings::mup_base_width},
    {"mup_base_head", &RunSettings::mup_base_head}};

SettingRule rule_of(const Json& json, std::initializer_list<const char*> own,
                    const std::string& path) {
  SettingRule made;
  made.rule = json.at("rule").get<std::string>();
  if (made.rule.empty()) return made;
  const auto& formulas = hyperparameter_rules();
  require(std::ranges::count(own, made.rule) + std::ranges::count(formulas, made.rule) > 0,
          "{}: there is no rule '{}'; there are {}, {}", path, made.rule, fmt::join(own, ", "),
          fmt::join(formulas, ", "));
  made.value = within(json, "value", 1 / kMostValue, kMostValue, path);
  made.low = within(json, "low", 1 / kMostValue, made.value, path);
  made.high = within(json, "high", made.value, kMostValue, path);
  return made;
}

BestSetting best_of(const Json& json, const std::string& path) {
  BestSetting made;
  made.problem = json.at("problem").get<std::string>();
  if (!made.problem.empty()) return made;
  made.coefficient = json.at("coefficient").get<double>();
  require(made.coefficient > 0 && std::isfinite(made.coefficient),
          "{}: \"coefficient\" is {}; it must be above 0", path, made.coefficient);
  made.n_exponent = within(json, "n_exponent", -kMostReadExponent, kMostReadExponent, path);
  made.d_exponent = within(json, "d_exponent", -kMostReadExponent, kMostReadExponent, path);
  made.cells = whole<int64_t>(json.at("cells"), "cells", path);
  return made;
}

}  // namespace

OrderedJson json_of(const RunSettings& made) {
  OrderedJson json;
  for (const auto& [key, field] : kWholes)
    json[key] = made.*field > 0 ? OrderedJson(made.*field) : OrderedJson(nullptr);
  json["lr"] = json_of(made.lr);
  json["batch"] = json_of(made.batch);
  json["best_lr"] = json_of(made.best_lr);
  json["best_batch"] = json_of(made.best_batch);
  return json;
}

RunSettings trained_with_of(const Json& json, const std::string& path) {
  RunSettings made;
  for (const auto& [key, field] : kWholes) made.*field = whole_or_none(json, key, path);
  made.lr = rule_of(json.at("lr"), {"fixed", "width", "mup"}, path);
  made.batch = rule_of(json.at("batch"), {"fixed"}, path);
  made.best_lr = best_of(json.at("best_lr"), path);
  made.best_batch = best_of(json.at("best_batch"), path);
  require(made.lr.rule != "width" || made.base_width > 0,
          "{}: rates of the rule width need \"base_width\"", path);
  require(made.lr.rule != "mup" || made.mup_base_width > 0,
          "{}: rates of the rule mup need \"mup_base_width\"", path);
  return made;
}

}  // namespace skein::scaling::study
