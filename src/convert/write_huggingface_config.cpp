#include <algorithm>

#include "skein/convert/huggingface_config.h"
#include "skein/core/log.h"
#include "skein/core/strict_json.h"
#include "skein/models/architecture.h"

#include "foreign_family.h"
#include "picture_config.h"

namespace skein::convert {
namespace {

using Json = ForeignJson;

constexpr char kOrigin[] = "the config.json of the import";

std::string class_name(const ModelConfig& c, const ForeignFamily& family) {
  if (c.architecture->reads() == Reads::pictures && family.vocabulary_classes.empty())
    return family.stem + "ForImageClassification";
  return family.stem + (c.head == Head::vocabulary ? family.vocabulary_classes.front()
                        : c.head == Head::sequence ? family.sequence_class
                                                   : "ForTokenClassification");
}

const char* dtype_name(DType dtype) {
  return dtype == DType::bf16  ? "bfloat16"
         : dtype == DType::f16 ? "float16"
         : dtype == DType::f64 ? "float64"
                               : "float32";
}

void write_labels(const ModelConfig& c, const ConfigExtras& extras, Json& json) {
  Json names = Json::object(), numbers = Json::object();
  for (int64_t i = 0; i < c.labels; ++i) {
    const std::string name =
        extras.labels.empty() ? fmt::format("LABEL_{}", i) : extras.labels.at(i);
    names[std::to_string(i)] = name;
    numbers[name] = i;
  }
  json["id2label"] = names;
  json["label2id"] = numbers;
  if (!extras.problem.empty()) json["problem_type"] = extras.problem;
}

bool is_or_holds(const Json& ids, int64_t id) {
  return ids == id || (ids.is_array() && std::find(ids.begin(), ids.end(), id) != ids.end());
}

bool reads_last_token(const ModelConfig& c) {
  return !c.architecture->sees_ahead() && c.head == Head::sequence;
}

// Whether padding is an id that also ends texts.
bool pads_with_end(const Json& json, const SpecialIds& ids) {
  const auto pad = json.find("pad_token_id"), end = json.find("eos_token_id");
  if (pad == json.end() || !pad->is_number_integer()) return false;
  return *pad == ids.eos || (end != json.end() && is_or_holds(*end, pad->get<int64_t>()));
}

bool only_decodes(const ModelConfig& model) {
  return model.architecture->reads() == Reads::texts && !model.architecture->sees_ahead() &&
         !model.architecture->maps_source(model);
}

Json begun_config(const ModelConfig& c, const ForeignFamily& family, const SpecialIds& ids) {
  Json json{{"architectures", {class_name(c, family)}}, {"model_type", family.name}};
  if (c.architecture->reads() == Reads::pictures) return json;
  json["vocab_size"] = c.vocab_size;
  if (const int32_t bos = begin_id(c, ids); bos >= 0) json["bos_token_id"] = bos;
  if (ids.eos >= 0) json["eos_token_id"] = ids.eos;
  if (ids.pad >= 0) json["pad_token_id"] = ids.pad;
  return json;
}

Json fresh_config(const ModelConfig& c, DType dtype, const ConfigExtras& extras,
                  const std::string& type) {
  const ForeignFamily& family = family_of(c, type);
  ForeignConfig keys(begun_config(c, family, extras.ids));
  ModelConfig written = c.written_out();
  family.keys(keys, written);
  Json json = keys.made();
  if (c.head != Head::vocabulary) write_labels(c, extras, json);
  if (extras.ids.start >= 0) json["decoder_start_token_id"] = extras.ids.start;
  if (family.forces_end) json["forced_eos_token_id"] = nullptr;
  if (!family.deviation.empty()) json[family.deviation] = c.init_std;
  if (c.architecture->reads() != Reads::pictures) json["tie_word_embeddings"] = c.tie_embeddings;
  json["torch_dtype"] = dtype_name(dtype);
  return json;
}

std::string text_of(const Json& json) { return json.dump(2) + "\n"; }

// The same model in another precision. Where tensors differ, whoever wrote `before` may have gone
// by other ones than most.
std::string with_dtype(const std::string& before, DType dtype, const std::set<DType>& held) {
  Json json = Json::parse(before);
  const auto is_held = [&](const Json& name) {
    return std::ranges::any_of(held, [&](DType type) { return name == dtype_name(type); });
  };
  bool changed = false;
  for (const char* key : {"dtype", "torch_dtype"}) {
    const auto found = json.find(key);
    if (found == json.end() || *found == dtype_name(dtype) || is_held(*found)) continue;
    *found = dtype_name(dtype);
    changed = true;
  }
  return changed ? text_of(json) : before;
}

bool has_labels(const Json& json, const std::vector<std::string>& labels) {
  const auto found = json.find("id2label");
  if (found == json.end() || found->size() != labels.size()) return false;
  for (size_t i = 0; i < labels.size(); ++i)
    if (const auto label = found->find(std::to_string(i));
        label == found->end() || *label != labels[i])
      return false;
  return true;
}

bool says_the_same(const Json& json, const std::string& text, const ModelConfig& model,
                   const ConfigExtras& extras) {
  std::set<std::string> names;
  for (const ForeignTensor& tensor : huggingface_names(model, model_type(text)).tensors)
    names.insert(tensor.name);
  const bool same_model =
      model_values(model_from_huggingface(text, kOrigin, {names})) == model_values(model);
  if (!same_model || extras.other_architecture) return false;
  const bool pictures = model.architecture->reads() == Reads::pictures;
  if (pictures && !extras.labels.empty() &&
      picture_labels(ForeignConfig(text, kOrigin), model.labels) != extras.labels)
    return false;
  if (!pictures && !extras.labels.empty() && !has_labels(json, extras.labels)) return false;
  const int32_t start = extras.ids.start;
  if (start >= 0 && json.value("decoder_start_token_id", Json()) != start) return false;
  if (extras.problem.empty()) return true;
  const auto problem = json.find("problem_type");
  return (problem == json.end() || problem->is_null() || *problem == extras.problem) &&
         !(reads_last_token(model) && pads_with_end(json, extras.ids));
}

// What `before` says of ids and labels and the checkpoint does not know better stays.
Json updated(Json before, Json fresh, const ModelConfig& model, const ConfigExtras& extras) {
  for (const char* key : {"rope_parameters", "dtype", "num_labels"}) before.erase(key);
  for (const std::string& alias : family_of(model, before.value("model_type", "")).aliases)
    before.erase(alias);
  if (!extras.labels.empty()) before.erase("problem_type");
  fresh.erase("forced_eos_token_id");
  if (const auto ends = before.find("eos_token_id");
      ends != before.end() && ends->is_array() && is_or_holds(*ends, extras.ids.eos))
    fresh.erase("eos_token_id");
  const auto labels = before.find("id2label");
  if (extras.labels.empty() && labels != before.end() && labels->is_object() &&
      std::ssize(*labels) == model.labels) {
    fresh.erase("id2label");
    fresh.erase("label2id");
  }
  before.update(fresh);
  return before;
}

}  // namespace

int32_t begin_id(const ModelConfig& model, const SpecialIds& ids) {
  return ids.bos >= 0 || model.architecture->maps_source(model) ? ids.bos : ids.eos;
}

std::string huggingface_config(const ModelConfig& model, DType dtype, const ConfigExtras& extras,
                               const std::string& before) {
  Json json = fresh_config(model, dtype, extras, model_type(before));
  if (!before.empty()) {
    Json had = parse_strictly<Json>(before, kOrigin, kMostConfigDepth);
    if (says_the_same(had, before, model, extras)) return with_dtype(before, dtype, extras.dtypes);
    json = updated(std::move(had), std::move(json), model, extras);
  }
  // Where the key is missing, the class has an id of its own, which texts may hold.
  const bool names_padding = json.contains("pad_token_id") || !only_decodes(model) ||
                             !(before.empty() || reads_last_token(model));
  if (!names_padding || (reads_last_token(model) && pads_with_end(json, extras.ids)))
    json["pad_token_id"] = nullptr;
  if (reads_last_token(model) && json["pad_token_id"].is_null())
    log::warn(
        "config.json says no pad_token_id, for no id here stands only for padding: transformers "
        "then takes one text at a time; for more, set it to an id that no text holds");
  return text_of(json);
}

}  // namespace skein::convert
