// Whole numbers out of JSON that somebody else may have written. Json is nlohmann::json or ordered_json.
#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "skein/core/error.h"

namespace skein {

// Whether `value` is written as a whole number that Whole can hold. Json's own get() takes fractions, too, and has no defined result for
// numbers out of range.
template <std::integral Whole, class Json>
bool is_whole(const Json& value) {
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
