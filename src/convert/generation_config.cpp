#include "skein/convert/generation_config.h"

#include "skein/core/files/files.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"

#include "foreign_family.h"

namespace skein::convert {
namespace {

using Json = ForeignJson;

// An id of the target's vocabulary, or a list of one; -1 where there is none.
int32_t id_of(const ForeignConfig& config, const std::string& key, const ModelConfig& model) {
  if (!config.has(key)) return -1;
  const Json& value = config.at(key);
  const Json& id = value.is_array() && value.size() == 1 ? value.front() : value;
  if (!is_whole<int32_t>(id) || id.get<int64_t>() < 0 || id.get<int64_t>() >= model.vocab_size)
    config.refuse(key, fmt::format("and an id from 0 to {} belongs there", model.vocab_size - 1));
  return id.get<int32_t>();
}

// Of a family's class, for vocabularies that have it.
int32_t known(int32_t id, const ModelConfig& model) { return id < model.vocab_size ? id : -1; }

std::vector<int64_t> banned_ids(const ForeignConfig& config, const ModelConfig& model) {
  const std::string key = "bad_words_ids";
  std::vector<int64_t> banned;
  if (!config.has(key)) return banned;
  if (!config.at(key).is_array()) config.refuse(key, "and a list of lists of ids belongs there");
  size_t longer = 0;
  for (const Json& word : config.at(key)) {
    if (!word.is_array()) config.refuse(key, "and a list of lists of ids belongs there");
    const auto ids = whole_list<int64_t>(word, key, config.origin());
    longer += ids.size() > 1;
    if (ids.size() != 1) continue;
    if (ids.front() < 0 || ids.front() >= model.vocab_size)
      config.refuse(key, fmt::format("and the model's ids are 0 to {}", model.vocab_size - 1));
    banned.push_back(ids.front());
  }
  if (longer > 0)
    log::warn("{}: {} of \"{}\" have several tokens, which are not banned here", config.origin(),
              longer, key);
  return banned;
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

}  // namespace

train::AnswerForm foreign_answers(const std::string& text, const std::string& generation,
                                  const std::string& folder, const ModelConfig& model) {
  if (!model.architecture->maps_source(model)) return {};
  const ForeignConfig config(text, join_path(folder, "config.json"));
  const bool alone = !generation.empty();
  const ForeignConfig decoding =
      alone ? ForeignConfig(generation, join_path(folder, kGenerationConfig)) : config;
  const ForeignFamily& family = family_named(config.text("model_type", ""), config.origin());
  const std::string start = "decoder_start_token_id", last = "forced_eos_token_id";
  train::AnswerForm made;
  made.start = first_of({id_of(decoding, start, model), id_of(config, start, model),
                         known(family.start, model), id_of(decoding, "bos_token_id", model)});
  made.first = id_of(decoding, "forced_bos_token_id", model);
  const bool silent = !alone && !config.mentions(last);
  made.last = silent ? known(family.last, model) : id_of(decoding, last, model);
  made.banned = banned_ids(decoding, model);
  return made;
}

std::string generation_config(const ConfigExtras& extras, const std::string& before) {
  Json json = before.empty()
                  ? Json::object()
                  : parse_strictly<Json>(before, "the generation_config.json of the import",
                                         kMostConfigDepth);
  bool changed = before.empty();
  changed |= put(json, "decoder_start_token_id", extras.answers.start);
  changed |= put(json, "forced_bos_token_id", extras.answers.first);
  changed |= put(json, "forced_eos_token_id", extras.answers.last);
  changed |= put(json, "bos_token_id", extras.ids.bos);
  changed |= put(json, "eos_token_id", extras.ids.eos);
  changed |= put(json, "pad_token_id", extras.ids.pad);
  if (before.empty() && !extras.answers.banned.empty())
    for (const int64_t id : extras.answers.banned) json["bad_words_ids"].push_back({id});
  return changed ? json.dump(2) + "\n" : before;
}

}  // namespace skein::convert
