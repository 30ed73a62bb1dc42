#include "skein/convert/generation_config.h"

#include <algorithm>
#include <vector>

#include "skein/core/files/files.h"
#include "skein/models/architecture.h"

#include "foreign_family.h"

namespace skein::convert {
namespace {

using Json = ForeignJson;

// An id of the target's vocabulary, or a list of one; -1 where there is none.
int32_t id_of(const ForeignConfig& config, const std::string& key, const ModelConfig& model) {
  if (!config.has(key)) return -1;
  const Json& id = only_one(config.at(key));
  if (!is_whole<int32_t>(id) || id.get<int64_t>() < 0 || id.get<int64_t>() >= model.vocab_size)
    config.refuse(key, fmt::format("and an id from 0 to {} belongs there", model.vocab_size - 1));
  return id.get<int32_t>();
}

int32_t first_of(std::initializer_list<int32_t> ids) {
  const auto found = std::ranges::find_if(ids, [](int32_t id) { return id >= 0; });
  return found == ids.end() ? -1 : *found;
}

// Ids that are nowhere said stay as they are.
bool put(Json& json, const char* key, int32_t id) {
  const auto had = json.find(key);
  if (id < 0 || (had != json.end() && *had == id)) return false;
  json[key] = id;
  return true;
}

// One id, or a list of several.
bool put_ends(Json& json, const SpecialIds& ids) {
  const Json had = json.value("eos_token_id", Json());
  std::vector<Json> ends;
  if (had.is_array()) ends.assign(had.begin(), had.end());
  const size_t before = ends.size();
  for (const int32_t id : {ids.eos, ids.turn_end})
    if (id >= 0 && std::ranges::find(ends, Json(id)) == ends.end()) ends.emplace_back(id);
  const Json now = ends.size() == 1 ? ends.front() : Json(ends);
  if (ends.empty() || (had.is_array() && ends.size() == before) || now == had) return false;
  json["eos_token_id"] = now;
  return true;
}

}  // namespace

int32_t foreign_start(const std::string& text, const std::string& generation,
                      const std::string& folder, const ModelConfig& model) {
  if (!model.architecture->maps_source(model)) return -1;
  const ForeignConfig config(text, join_path(folder, "config.json"));
  const ForeignConfig decoding =
      generation.empty() ? config : ForeignConfig(generation, join_path(folder, kGenerationConfig));
  const ForeignFamily& family = family_named(config.text("model_type", ""), config.origin());
  const std::string key = "decoder_start_token_id";
  const int32_t of_class = family.start < model.vocab_size ? family.start : -1;
  return first_of({id_of(decoding, key, model), id_of(config, key, model), of_class,
                   id_of(decoding, "bos_token_id", model)});
}

std::string generation_config(const ModelConfig& model, const SpecialIds& ids,
                              const std::string& before) {
  Json json = before.empty()
                  ? Json::object()
                  : parse_strictly<Json>(before, "the generation_config.json of the import",
                                         kMostConfigDepth);
  require(json.is_object(), "the generation_config.json of the import is {}, not an object",
          json.type_name());
  bool changed = before.empty();
  changed |= put(json, "decoder_start_token_id", ids.start);
  changed |= put(json, "bos_token_id", begin_id(model, ids));
  changed |= put_ends(json, ids);
  changed |= put(json, "pad_token_id", ids.pad);
  if (before.empty()) json["max_length"] = model.context;
  return changed ? json.dump(2) + "\n" : before;
}

}  // namespace skein::convert
