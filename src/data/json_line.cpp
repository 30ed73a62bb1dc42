#include "json_line.h"

#include "skein/core/error.h"

#include <utility>

#include "skein/data/excerpt.h"

namespace skein {
namespace {

using Json = nlohmann::json;

// The library's own text begins with its name for the error in brackets and may quote the whole line.
std::string shortened(std::string reason) {
  if (const size_t bracket = reason.find("] "); reason.starts_with('[') && bracket != std::string::npos)
    reason.erase(0, bracket + 2);
  return excerpt(reason);
}

}  // namespace

Json parse_json_line(std::string_view line, std::string& reason) {
  reason.clear();
  Json json;
  try {
    json = Json::parse(line);
  } catch (const Json::exception& error) {
    reason = shortened(error.what());
    return {};
  }
  if (json.is_array())
    reason = "a JSON array; JSONL has one object a line (`jq -c '.[]'` makes it from an array)";
  else if (!json.is_object())
    reason = fmt::format("a JSON {}, not an object", json.type_name());
  return json;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

}  // namespace skein
