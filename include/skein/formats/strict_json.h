// JSON of files that other programs made.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "skein/core/error.h"

namespace skein {

// The value of `text`, as nlohmann::json or ordered_json. A usage error naming `origin` when it is no JSON, has objects and lists
// within each other deeper than `most_depth` (whoever copies or prints them recurses), or names something twice in one object.
template <class Json>
Json parse_strictly(const std::string& text, const std::string& origin, int most_depth) {
  std::vector<std::set<std::string>> names;
  const auto watch = [&](int depth, typename Json::parse_event_t event, Json& value) {
    require(depth <= most_depth, "{} is nested deeper than the {} levels that such a file has", origin, most_depth);
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key)
      require(names.back().insert(value.template get<std::string>()).second, "{} names {} twice", origin, value.template get<std::string>());
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const typename Json::exception& error) {
    fail_usage("{} is not JSON: {}", origin, error.what());
  }
}

}  // namespace skein
