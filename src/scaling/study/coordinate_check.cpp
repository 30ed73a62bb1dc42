#include "skein/scaling/study/coordinate_check.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"
#include "skein/scaling/laws/results.h"

#include "scaling/laws/json_file.h"

namespace skein::scaling::study {
namespace {

using Json = nlohmann::json;

std::vector<double> listed_numbers(const Json& json) {
  std::vector<double> made;
  for (const Json& one : json) made.push_back(one.is_null() ? kUnknown : one.get<double>());
  return made;
}

CoordinateLayer layer_of(const Json& json) {
  CoordinateLayer layer{json.at("name").get<std::string>(),
                        json.at("grows").get<bool>(),
                        listed_numbers(json.at("exponents")),
                        {}};
  for (const Json& step : json.at("sizes")) layer.sizes.push_back(listed_numbers(step));
  return layer;
}

bool has_all_parts(const CoordinateCheck& check) {
  const size_t steps = check.steps + 1;
  for (const CoordinateLayer& layer : check.layers) {
    if (layer.exponents.size() != steps || layer.sizes.size() != steps) return false;
    for (const auto& step : layer.sizes)
      if (step.size() != check.widths.size()) return false;
  }
  return check.widths.size() >= 2 && check.widths.front() > 0 &&
         std::is_sorted(check.widths.begin(), check.widths.end()) && check.steps >= 1 &&
         !check.layers.empty() && check.losses.size() == check.widths.size();
}

CoordinateCheck check_of(const Json& json, const std::string& origin) {
  CoordinateCheck check;
  check.name = json.at("name").get<std::string>();
  check.widths = whole_list<int64_t>(json.at("widths"), "widths", origin);
  check.steps = whole<int64_t>(json.at("steps"), "steps", origin);
  for (const Json& layer : json.at("layers")) check.layers.push_back(layer_of(layer));
  check.losses = listed_numbers(json.at("losses"));
  require(has_all_parts(check),
          "{}: the coordinate check '{}' is not whole: {} widths, {} steps and {} layers do not "
          "have a number each; make it anew",
          origin, check.name, check.widths.size(), check.steps, check.layers.size());
  return check;
}

}  // namespace

std::vector<CoordinateCheck> coordinate_checks_of(const std::string& text,
                                                  const std::string& origin) {
  constexpr const char* kWanted =
      "give what `skein bench --bench.what=coordinates --bench.output=FILE` wrote";
  std::vector<CoordinateCheck> made;
  try {
    const Json json = Json::parse(text);
    for (const Json& figure : json.at("figures"))
      if (figure.at("group") == "coordinates") made.push_back(check_of(figure, origin));
  } catch (const Json::exception& error) {
    fail_usage("{} is no coordinate check; {}: {}", origin, kWanted, json_fault(error.what()));
  }
  require(!made.empty(), "{} has no coordinate check; {}", origin, kWanted);
  return made;
}

std::vector<CoordinateCheck> read_coordinate_checks(const std::string& path) {
  return coordinate_checks_of(
      json_file_text(path, "the JSON file that `skein bench --bench.output` wrote"), path);
}

}  // namespace skein::scaling::study
