// Lines of JSONL.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "skein/core/json.h"

namespace skein {

// What line holds; not an object when `reason` says what is wrong with it, else reason is "".
nlohmann::json parse_json_line(std::string_view line, std::string& reason);

std::vector<std::string> keys_of(const nlohmann::json& object);

}  // namespace skein
