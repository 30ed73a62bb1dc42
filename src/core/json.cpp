#include "skein/core/json.h"

template class nlohmann::detail::serializer<nlohmann::json>;
template class nlohmann::detail::serializer<nlohmann::ordered_json>;
template class nlohmann::detail::parser<nlohmann::json, skein::JsonText>;
template class nlohmann::detail::parser<nlohmann::ordered_json, skein::JsonText>;
