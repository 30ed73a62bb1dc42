#include "skein/core/json.h"

#include <cmath>

nlohmann::ordered_json skein::json_number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

template class nlohmann::detail::serializer<nlohmann::json>;
template class nlohmann::detail::serializer<nlohmann::ordered_json>;
template class nlohmann::detail::parser<nlohmann::json, skein::JsonText>;
template class nlohmann::detail::parser<nlohmann::ordered_json, skein::JsonText>;
