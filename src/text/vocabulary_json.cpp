#include "skein/core/json.h"

#include "word_model.h"

namespace skein {

std::string json_string(std::string_view text) { return nlohmann::json(text).dump(); }

std::string vocabulary_json(const Vocabulary& vocabulary) {
  std::string json = "{";
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.has(id)) continue;
    json += json_string(vocabulary.token(id));
    json += ':';
    json += std::to_string(id);
    json += ',';
  }
  if (json.back() == ',') json.pop_back();
  return json + "}";
}

}  // namespace skein
