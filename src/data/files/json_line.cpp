#include "json_line.h"

#include "skein/core/error.h"
#include "skein/core/strings.h"

namespace skein {
namespace {

using Json = nlohmann::json;

}  // namespace

Json parse_json_line(std::string_view line, std::string& reason) {
  reason.clear();
  Json json;
  try {
    json = Json::parse(line);
  } catch (const Json::exception& error) {
    reason = json_fault(error.what());
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
