#include "json_line.h"

#include "skein/core/error.h"
#include "skein/core/strings.h"

namespace skein::data {

using Json = nlohmann::json;

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

const Json& value_at(const Json& object, const std::string& key, const std::string& where,
                     const char* called) {
  const auto found = object.find(key);
  if (found != object.end()) return *found;
  const std::vector<std::string> keys = keys_of(object);
  fail_usage("{}: no {} \"{}\"; the object has {}{}", where, called, key, listed(keys),
             did_you_mean(key, keys));
}

std::string text_of(const Json& value, const std::string& called, const std::string& where) {
  require(value.is_string(), "{}: {} is a JSON {}, not a string", where, called, value.type_name());
  return value.get<std::string>();
}

bool JsonLines::next() {
  do {
    if (!lines_.next(line_)) return false;
    if (!lines_.ends_line())
      fail_usage("{}: the line is longer than {} bytes; is it JSONL, one object a line?", where(),
                 most_bytes_);
  } while (blank(line_));
  return true;
}

Json JsonLines::object() const {
  std::string reason;
  Json json = parse_json_line(line_, reason);
  require(reason.empty(), "{}: {}", where(), reason);
  return json;
}

std::string JsonLines::where() const { return fmt::format("{}:{}", name_, number()); }

}  // namespace skein::data
