// JSON that somebody else may have written, as nlohmann::json or ordered_json.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/excerpt.h"

namespace skein {

// The value of `text`. A usage error naming `origin` when it is no JSON, has objects and lists within each other deeper than `most_depth`
// (whoever copies or prints them recurses, and each open one costs much more memory than its byte), or names something twice in one object.
template <class Json>
Json parse_strictly(const std::string& text, const std::string& origin, int most_depth = 32) {
  std::vector<std::set<std::string>> names;
  const auto watch = [&](int depth, typename Json::parse_event_t event, Json& value) {
    require(depth <= most_depth, "{} is nested deeper than the {} levels that such a file has", origin, most_depth);
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key)
      require(names.back().insert(value.template get<std::string>()).second, "{} names {} twice",
              origin, excerpt(value.template get<std::string>()));
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const typename Json::exception& error) {
    fail_usage("{} is not JSON: {}", origin, json_fault(error.what()));
  }
}

// Whether `value` is a whole number that Whole can hold; one with a point or an exponent, such as
// 1e3, up to 2^53, where it is exact. Json's own get() takes fractions, too, and has no defined
// result for numbers out of range.
template <std::integral Whole, class Json>
bool is_whole(const Json& value) {
  if (value.is_number_float()) {
    const auto number = value.template get<double>();
    return std::trunc(number) == number && std::abs(number) <= 0x1p53 &&
           std::in_range<Whole>(static_cast<int64_t>(number));
  }
  if (value.is_number_unsigned()) return std::in_range<Whole>(value.template get<uint64_t>());
  return value.is_number_integer() && std::in_range<Whole>(value.template get<int64_t>());
}

// Such a number; a usage error naming `origin` and `what` for any other value.
template <std::integral Whole, class Json>
Whole whole(const Json& value, const std::string& what, const std::string& origin) {
  require(is_whole<Whole>(value), "{}: \"{}\" is {}; a whole number from {} to {} belongs there", origin, what,
          value.is_number() ? value.dump() : std::string("a JSON ") + value.type_name(), std::numeric_limits<Whole>::min(), std::numeric_limits<Whole>::max());
  return value.template get<Whole>();
}

template <std::integral Whole, class Json>
std::vector<Whole> whole_list(const Json& list, const std::string& what, const std::string& origin) {
  std::vector<Whole> made;
  for (const Json& value : list) made.push_back(whole<Whole>(value, what, origin));
  return made;
}

}  // namespace skein
