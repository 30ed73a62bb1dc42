#include "skein/train/task_notes.h"

#include "skein/core/json.h"

namespace skein::train {

using Json = nlohmann::ordered_json;

TaskNotes::TaskNotes(std::string json)
    : StoredText(std::move(json), [](const std::string& text) {
        return std::make_shared<const Json>(Json::parse(text));
      }) {}

const Json* TaskNotes::object() const {
  if (empty()) return nullptr;
  try {
    const Json& json = **this;
    return json.is_object() ? &json : nullptr;
  } catch (const Json::parse_error&) {
    return nullptr;
  }
}

std::string TaskNotes::text_of(const std::string& key) const {
  const Json* json = object();
  if (!json) return "";
  const auto found = json->find(key);
  return found != json->end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace skein::train
