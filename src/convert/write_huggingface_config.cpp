#include <algorithm>

#include "skein/convert/huggingface_config.h"
#include "skein/core/log.h"
#include "skein/core/strict_json.h"
#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"

namespace skein {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kOrigin[] = "the config.json of the import";

std::string architecture_name(const ModelConfig& c, Family family) {
  const std::string stem = class_stem(family);
  if (c.head != Head::vocabulary)
    return stem +
           (c.head == Head::sequence ? "ForSequenceClassification" : "ForTokenClassification");
  switch (family) {
    case Family::gpt2: return "GPT2LMHeadModel";
    case Family::llama: return "LlamaForCausalLM";
    case Family::bert: return bert_options(c).pooler ? "BertForPreTraining" : "BertForMaskedLM";
    case Family::roberta: return "RobertaForMaskedLM";
  }
  return "";
}

const char* activation_name(MlpKind kind) {
  return kind == MlpKind::gelu_tanh  ? "gelu_new"
         : kind == MlpKind::gelu_erf ? "gelu"
         : kind == MlpKind::relu     ? "relu"
                                     : "silu";
}

const char* dtype_name(DType dtype) {
  return dtype == DType::bf16  ? "bfloat16"
         : dtype == DType::f16 ? "float16"
         : dtype == DType::f64 ? "float64"
                               : "float32";
}

void write_gpt2(const ModelConfig& c, Json& json) {
  json.update({{"n_embd", c.d_model},
               {"n_layer", c.n_layers},
               {"n_head", c.n_heads},
               {"n_positions", c.context},
               {"n_inner", c.hidden()},
               {"activation_function", activation_name(c.activation)},
               {"layer_norm_epsilon", c.norm_epsilon},
               {"resid_pdrop", c.dropout},
               {"embd_pdrop", c.dropout},
               {"attn_pdrop", c.dropout},
               {"scale_attn_weights", true}});
}

void write_llama(const ModelConfig& c, Json& json) {
  json.update({{"hidden_size", c.d_model},
               {"num_hidden_layers", c.n_layers},
               {"num_attention_heads", c.n_heads},
               {"num_key_value_heads", c.kv_heads()},
               {"head_dim", c.head_width()},
               {"intermediate_size", c.hidden()},
               {"max_position_embeddings", c.context},
               {"rms_norm_eps", c.norm_epsilon},
               {"hidden_act", "silu"},
               {"attention_bias", c.bias || c.attention_bias},
               {"mlp_bias", c.bias},
               {"attention_dropout", c.dropout},
               {"rope_theta", c.rope_theta},
               {"rope_scaling", nullptr}});
  if (c.rope_scaling == RopeScaling::linear)
    json["rope_scaling"] = {{"rope_type", "linear"}, {"factor", c.rope_factor}};
  if (c.rope_scaling == RopeScaling::llama3)
    json["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", c.rope_factor},
                            {"low_freq_factor", c.rope_low_frequency},
                            {"high_freq_factor", c.rope_high_frequency},
                            {"original_max_position_embeddings", c.rope_context}};
}

void write_bert(const ModelConfig& c, Family family, Json& json) {
  json.update({{"hidden_size", c.d_model},
               {"num_hidden_layers", c.n_layers},
               {"num_attention_heads", c.n_heads},
               {"intermediate_size", c.hidden()},
               {"max_position_embeddings", c.context + c.position_offset},
               {"type_vocab_size", c.token_types},
               {"hidden_act", activation_name(c.activation)},
               {"layer_norm_eps", c.norm_epsilon},
               {"hidden_dropout_prob", c.dropout},
               {"attention_probs_dropout_prob", c.dropout},
               {"position_embedding_type", "absolute"}});
  if (family == Family::roberta) json["pad_token_id"] = c.position_offset - 1;
}

void write_labels(const ModelConfig& c, const ConfigExtras& extras, Json& json) {
  Json names = Json::object(), numbers = Json::object();
  for (int64_t i = 0; i < c.labels; ++i) {
    const std::string name = extras.labels.empty() ? fmt::format("LABEL_{}", i)
                                                   : extras.labels.at(static_cast<size_t>(i));
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

bool reads_last_token(const ModelConfig& c) { return is_gpt(c) && c.head == Head::sequence; }

// Whether padding is an id that also ends texts.
bool pads_with_end(const Json& json, const SpecialIds& ids) {
  const auto pad = json.find("pad_token_id"), end = json.find("eos_token_id");
  if (pad == json.end() || !pad->is_number_integer()) return false;
  return *pad == ids.eos || (end != json.end() && is_or_holds(*end, pad->get<int64_t>()));
}

Json fresh_config(const ModelConfig& c, DType dtype, const ConfigExtras& extras) {
  const Family family = family_of(c);
  const SpecialIds& ids = extras.ids;
  Json json{{"architectures", {architecture_name(c, family)}},
            {"model_type", name_of(family)},
            {"vocab_size", c.vocab_size}};
  const int32_t bos = ids.bos >= 0 ? ids.bos : ids.eos;
  if (bos >= 0) json["bos_token_id"] = bos;
  if (ids.eos >= 0) json["eos_token_id"] = ids.eos;
  if (ids.pad >= 0) json["pad_token_id"] = ids.pad;
  if (family == Family::gpt2)
    write_gpt2(c, json);
  else if (family == Family::llama)
    write_llama(c, json);
  else
    write_bert(c, family, json);
  if (c.head != Head::vocabulary) write_labels(c, extras, json);
  json.update({{"initializer_range", c.init_std},
               {"tie_word_embeddings", c.tie_embeddings},
               {"torch_dtype", dtype_name(dtype)}});
  return json;
}

std::string text_of(const Json& json) { return json.dump(2) + "\n"; }

// The same model in another precision.
std::string with_dtype(const std::string& before, DType dtype) {
  Json json = Json::parse(before);
  bool changed = false;
  for (const char* key : {"dtype", "torch_dtype"}) {
    const auto found = json.find(key);
    if (found == json.end() || *found == dtype_name(dtype)) continue;
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
  const std::set<std::string> pairs =
      bert_options(model).pooler
          ? std::set<std::string>{"pooler.dense.weight", "cls.seq_relationship.weight"}
          : std::set<std::string>{};
  const bool same_model =
      model_values(model_from_huggingface(text, kOrigin, pairs)) == model_values(model);
  if (!same_model || extras.other_architecture) return false;
  if (!extras.labels.empty() && !has_labels(json, extras.labels)) return false;
  if (extras.problem.empty()) return true;
  const auto problem = json.find("problem_type");
  return (problem == json.end() || problem->is_null() || *problem == extras.problem) &&
         !(reads_last_token(model) && pads_with_end(json, extras.ids));
}

// What `before` says of ids and labels and the checkpoint does not know better stays.
Json updated(Json before, Json fresh, const ModelConfig& model, const ConfigExtras& extras) {
  for (const char* key : {"rope_parameters", "dtype", "num_labels"}) before.erase(key);
  if (family_of(model) == Family::gpt2)
    for (const char* alias :
         {"hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings"})
      before.erase(alias);
  if (!extras.labels.empty()) before.erase("problem_type");
  if (const auto ends = before.find("eos_token_id");
      ends != before.end() && ends->is_array() && is_or_holds(*ends, extras.ids.eos))
    fresh.erase("eos_token_id");
  const auto labels = before.find("id2label");
  if (extras.labels.empty() && labels != before.end() && labels->is_object() &&
      static_cast<int64_t>(labels->size()) == model.labels) {
    fresh.erase("id2label");
    fresh.erase("label2id");
  }
  before.update(fresh);
  return before;
}

}  // namespace

std::string huggingface_config(const ModelConfig& model, DType dtype, const ConfigExtras& extras,
                               const std::string& before) {
  Json json = fresh_config(model, dtype, extras);
  if (!before.empty()) {
    Json had = parse_strictly<Json>(before, kOrigin, kMostConfigDepth);
    if (says_the_same(had, before, model, extras)) return with_dtype(before, dtype);
    json = updated(std::move(had), std::move(json), model, extras);
  }
  if (reads_last_token(model) && pads_with_end(json, extras.ids)) json.erase("pad_token_id");
  const auto pad = json.find("pad_token_id");
  if (reads_last_token(model) && (pad == json.end() || pad->is_null()))
    log::warn(
        "config.json says no pad_token_id, for no id here stands only for padding: transformers "
        "then takes one text at a time; for more, set it to an id that no text holds");
  return text_of(json);
}

}  // namespace skein
