// nlohmann::json and ordered_json, whose readers and writers are compiled once, in core/json.cpp:
// each of the many sources that use them would take a second or two longer.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace skein {

using JsonText = nlohmann::detail::iterator_input_adapter<std::string::const_iterator>;

// A number as results show it: whole ones without a point.
nlohmann::ordered_json json_number(double value);

}  // namespace skein

extern template class nlohmann::detail::serializer<nlohmann::json>;
extern template class nlohmann::detail::serializer<nlohmann::ordered_json>;
extern template class nlohmann::detail::parser<nlohmann::json, skein::JsonText>;
extern template class nlohmann::detail::parser<nlohmann::ordered_json, skein::JsonText>;
