#include "skein/core/json.h"

template class nlohmann::basic_json<>;
template class nlohmann::basic_json<nlohmann::ordered_map>;
template class nlohmann::detail::parser<nlohmann::json, skein::JsonText>;
template class nlohmann::detail::parser<nlohmann::ordered_json, skein::JsonText>;
