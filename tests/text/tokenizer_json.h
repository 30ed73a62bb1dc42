// Tokenizers by their tokenizer.json, and changes that make it none.
#pragma once

#include "skein/text/tokenizer.h"

#include "golden_files.h"

namespace skein::text {

inline std::unique_ptr<Tokenizer> made(const nlohmann::json& json) {
  return tokenizer_from_json(json.dump());
}

inline nlohmann::json with(nlohmann::json json, const std::string& pointer,
                           const std::string& value) {
  json[nlohmann::json::json_pointer(pointer)] = nlohmann::json::parse(value);
  return json;
}

inline void refused(const nlohmann::json& json, std::initializer_list<std::string> words) {
  SCOPED_TRACE(json.dump().substr(0, 600));
  test::expect_refused(words, [&] { made(json); });
}

}  // namespace skein::text
