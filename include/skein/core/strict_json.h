// JSON that somebody else may have written, as nlohmann::json or ordered_json.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strings.h"

namespace skein {

// A usage error naming `origin` when `text` has objects and lists within each other deeper than
// `most_depth` (whoever copies or prints them recurses), or names something twice in one object.
// That it is no JSON is left to whoever parses it.
void check_json(const std::string& text, const std::string& origin, int most_depth);

// The value of `text`. A usage error naming `origin` when it is no JSON, or as check_json says.
template <class Json>
Json parse_strictly(const std::string& text, const std::string& origin, int most_depth = 32) {
  check_json(text, origin, most_depth);
  try {
    return Json::parse(text);
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
  require(is_whole<Whole>(value), "{}: \"{}\" is {}; a whole number from {} to {} belongs there",
          origin, what,
          value.is_number() ? value.dump() : std::string("a JSON ") + value.type_name(),
          std::numeric_limits<Whole>::min(), std::numeric_limits<Whole>::max());
  return value.template get<Whole>();
}

template <std::integral Whole, class Json>
std::vector<Whole> whole_list(const Json& list, const std::string& what,
                              const std::string& origin) {
  std::vector<Whole> made;
  for (const Json& value : list) made.push_back(whole<Whole>(value, what, origin));
  return made;
}

}  // namespace skein
