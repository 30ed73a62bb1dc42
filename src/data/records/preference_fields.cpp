#include "preference_fields.h"

#include <cmath>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/files/line_reader.h"

#include "data/files/json_line.h"

namespace skein::data {

using Json = nlohmann::json;

std::string Fields::which(std::initializer_list<const char*> keys) const {
  for (const char* key : keys)
    if (has(key)) return key;
  return *keys.begin();
}

const Json& Fields::at(const std::string& key) const {
  const Json& value = value_at(object_, key, where_, "field");
  require(!value.is_null(), "{}: \"{}\" is a JSON null; give a value", where_, key);
  return value;
}

std::string Fields::string_of(const Json& value, const std::string& name) const {
  require(value.is_string(), "{}: \"{}\" is a JSON {}, not a string{}", where_, name,
          value.type_name(),
          value.is_array() && !value.empty() && value.front().is_number()
              ? "; turn token ids into text first"
              : "");
  return value.get<std::string>();
}

std::string Fields::text_of(const Json& value, const std::string& name) const {
  std::string text = string_of(value, name);
  require(!blank(text), "{}: \"{}\" is empty", where_, name);
  return text;
}

double Fields::number_of(const Json& value, const std::string& name) const {
  require(value.is_number(), "{}: \"{}\" is a JSON {}, not a number{}", where_, name,
          value.type_name(), value.is_null() ? " (NaN is written so by some programs)" : "");
  const double number = value.get<double>();
  require(std::isfinite(number) && std::abs(number) <= 1e30,
          "{}: \"{}\" is {}, which no model can learn", where_, name, number);
  return number;
}

std::string Fields::text(const std::string& key) const { return text_of(at(key), key); }
std::string Fields::answer(const std::string& key) const { return string_of(at(key), key); }

double Fields::number(const std::string& key) const {
  const auto found = object_.find(key);
  return number_of(found != object_.end() ? *found : at(key), key);
}

int64_t Fields::integer(const std::string& key, int64_t least, int64_t most) const {
  const Json& value = at(key);
  const double number = value.is_boolean() ? value.get<bool>() : number_of(value, key);
  require(number == std::floor(number) && number >= least && number <= most,
          "{}: \"{}\" is {}, not a whole number from {} to {}", where_, key, number, least, most);
  return static_cast<int64_t>(number);
}

const Json& Fields::list_at(const std::string& key) const {
  const Json& list = at(key);
  require(list.is_array(), "{}: \"{}\" is a JSON {}, not a list", where_, key, list.type_name());
  return list;
}

std::vector<std::string> Fields::answers(const std::string& key) const {
  std::vector<std::string> all;
  for (const Json& one : list_at(key))
    all.push_back(string_of(one, fmt::format("{}[{}]", key, all.size())));
  return all;
}

std::vector<double> Fields::numbers(const std::string& key, size_t count) const {
  const Json& list = list_at(key);
  require(list.size() == count, "{}: \"{}\" has {} numbers, but there are {} answers", where_, key,
          list.size(), count);
  std::vector<double> all;
  for (const Json& one : list)
    all.push_back(number_of(one, fmt::format("{}[{}]", key, all.size())));
  return all;
}

Fields Fields::object_of(const Json& value, const char* key, const char* wanted) const {
  require(value.is_object(), "{}: \"{}\" holds a JSON {}, not objects with {}", where_, key,
          value.type_name(), wanted);
  return {value, where_};
}

std::vector<text::Message> Fields::messages(const std::string& key) const {
  const Json& list = at(key);
  require(list.is_array() && !list.empty(), "{}: \"{}\" is {}, not a list of messages", where_, key,
          list.is_array() ? "an empty list" : fmt::format("a JSON {}", list.type_name()));
  std::vector<text::Message> all;
  for (const Json& one : list) {
    const std::string name = fmt::format("{}[{}]", key, all.size());
    require(one.is_object() && one.contains("role") && one.contains("content"),
            "{}: \"{}\" is no message with \"role\" and \"content\"", where_, name);
    std::string role = text_of(one["role"], name + ".role");
    if (role == "human") role = "user";
    if (role == "gpt") role = "assistant";
    require(role == "system" || role == "user" || role == "assistant",
            "{}: \"{}.role\" is \"{}\", not system, user or assistant", where_, name,
            excerpt(role));
    const Json& content = one["content"];
    all.push_back({role, role == "assistant" ? string_of(content, name + ".content")
                                             : text_of(content, name + ".content")});
  }
  return all;
}

std::vector<text::Message> Fields::turns(const std::string& key) const {
  if (at(key).is_array()) return messages(key);
  // Apart: where it throws inside of a list, GCC 12 destroys the list's first string twice.
  std::string said = text(key);
  return {{"user", std::move(said)}};
}

}  // namespace skein::data
