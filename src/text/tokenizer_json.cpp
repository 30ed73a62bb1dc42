#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strict_json.h"
#include "skein/text/tokenizer.h"

#include "hugging_face.h"
#include "sentencepiece_tokenizer.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;

Json parse_object(const std::string& text) {
  Json json = parse_strictly<Json>(text, "the tokenizer");
  require(json.is_object(), "a tokenizer must be a JSON object, not {}", json.type_name());
  return json;
}

void check_keys(const Json& json, const std::vector<std::string>& known, const std::string& type) {
  for (const auto& item : json.items())
    require(std::find(known.begin(), known.end(), item.key()) != known.end(),
            "a tokenizer of type \"{}\" has no \"{}\"; it has {}", type, item.key(),
            fmt::join(known, ", "));
  for (const auto& key : known)
    require(json.contains(key), "a tokenizer of type \"{}\" needs \"{}\", which is missing", type,
            key);
}

void check_version(const Json& json) {
  const Json& version = json.at("version");
  require(version.is_number_integer() && version == 1,
          "the tokenizer's version is {}; this program reads version 1",
          version.dump().substr(0, 40));
}

int32_t merge_id(const Json& value, size_t rank) {
  const bool fits = value.is_number_unsigned() && value.get<uint64_t>() <= INT32_MAX;
  require(fits, "merge {} of the tokenizer holds {}, which is no token id", rank,
          value.is_number() ? value.dump() : std::string("a JSON ") + value.type_name());
  return value.get<int32_t>();
}

std::vector<std::pair<int32_t, int32_t>> read_merges(const Json& merges) {
  require(merges.is_array(), "the tokenizer's \"merges\" must be an array, not {}",
          merges.type_name());
  std::vector<std::pair<int32_t, int32_t>> pairs;
  pairs.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const Json& pair = merges[rank];
    require(pair.is_array() && pair.size() == 2, "merge {} of the tokenizer must be a pair of ids",
            rank);
    pairs.emplace_back(merge_id(pair[0], rank), merge_id(pair[1], rank));
  }
  return pairs;
}

}  // namespace

std::unique_ptr<Tokenizer> tokenizer_from_json(const std::string& text) {
  const Json json = parse_object(text);
  const auto type = json.find("type");
  if (type == json.end() && json.contains("model")) return tokenizer_from_hugging_face(json);
  require(type != json.end() && type->is_string(),
          "a tokenizer needs \"type\": \"bytes\", \"byte_bpe\" or \"sentencepiece\", or a "
          "\"model\" as in a "
          "tokenizer.json; is this another program's tokenizer file?");
  const auto name = type->get<std::string>();
  require(name == "bytes" || name == "byte_bpe" || name == "sentencepiece",
          "the tokenizer's type is \"{}\"; bytes, byte_bpe and sentencepiece are known", name);
  if (name == "sentencepiece") {
    check_keys(json, {"type", "version", "extra", "begin", "end", "vocab", "file"}, name);
    check_version(json);
    return sentencepiece_from_json(json);
  }
  if (name == "bytes") {
    check_keys(json, {"type", "version"}, name);
    check_version(json);
    return byte_tokenizer();
  }
  check_keys(json, {"type", "version", "merges"}, name);
  check_version(json);
  return bpe_tokenizer(read_merges(json.at("merges")));
}

StoredTokenizer::StoredTokenizer(std::string json)
    : StoredText(std::move(json), [](const std::string& text) -> std::shared_ptr<const Tokenizer> {
        return tokenizer_from_json(text);
      }) {}

StoredTokenizer::StoredTokenizer(std::shared_ptr<const Tokenizer> tokenizer)
    : StoredText(tokenizer->to_json(), tokenizer) {}

bool same_tokenizer(const StoredTokenizer& left, const StoredTokenizer& right) {
  if (left == right) return true;
  try {
    return left->to_json() == right->to_json();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace skein::text
