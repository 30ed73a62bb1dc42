#include "skein/convert/huggingface_config.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strict_json.h"
#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"
#include "skein/train/tasks/label_head.h"

namespace skein {
namespace {

using Json = nlohmann::ordered_json;

// Reads keys of one config.json; every error names the file and the key.
class Config {
 public:
  Config(const std::string& text, const std::string& origin)
      : json_(parse_strictly<Json>(text, origin, kMostConfigDepth)), origin_(origin) {
    require(json_.is_object(), "{} is no JSON object", origin);
  }
  Config(Json json, const std::string& origin) : json_(std::move(json)), origin_(origin) {}

  bool has(const std::string& key) const { return json_.contains(key) && !json_[key].is_null(); }
  const Json& at(const std::string& key) const { return json_[key]; }
  const std::string& origin() const { return origin_; }

  int64_t integer(const std::string& key, std::optional<int64_t> otherwise = {}) const {
    if (!has(key) && otherwise) return *otherwise;
    require(has(key), "{} lacks \"{}\"", origin_, key);
    const Json& value = json_[key];
    constexpr int64_t kMost = INT32_MAX;
    const bool fits =
        is_whole<int64_t>(value) && value.get<int64_t>() >= 0 && value.get<int64_t>() <= kMost;
    if (!fits)
      fail_usage("{}: \"{}\" is {}; a whole number from 0 to {} belongs there", origin_, key,
                 shown(key), kMost);
    return value.get<int64_t>();
  }
  double real(const std::string& key, std::optional<double> otherwise = {}) const {
    if (!has(key) && otherwise) return *otherwise;
    require(has(key), "{} lacks \"{}\"", origin_, key);
    if (!json_[key].is_number())
      fail_usage("{}: \"{}\" is {}; a number belongs there", origin_, key, shown(key));
    return json_[key].get<double>();
  }
  bool truth(const std::string& key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_boolean())
      fail_usage("{}: \"{}\" is {}; true or false belongs there", origin_, key, shown(key));
    return json_[key].get<bool>();
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_string())
      fail_usage("{}: \"{}\" is {}; a text belongs there", origin_, key, shown(key));
    return json_[key].get<std::string>();
  }
  Config object(const std::string& key) const {
    require(json_[key].is_object(), "{}: \"{}\" is no object", origin_, key);
    return {json_[key], origin_ + ", " + key};
  }
  void refuse(const std::string& key, const std::string& why) const {
    fail_usage("{}: \"{}\" is {}, {}", origin_, key, shown(key), why);
  }
  void refuse_true(const std::string& key, const std::string& why) const {
    if (truth(key, false)) refuse(key, why);
  }

 private:
  std::string shown(const std::string& key) const { return json_[key].dump().substr(0, 80); }

  Json json_;
  std::string origin_;
};

struct NamedActivation {
  const char* name;
  MlpKind kind;
};

// Formulas that have several names in transformers' activations.py.
constexpr NamedActivation kActivations[] = {
    {"gelu", MlpKind::gelu_erf},           {"gelu_python", MlpKind::gelu_erf},
    {"gelu_new", MlpKind::gelu_tanh},      {"gelu_pytorch_tanh", MlpKind::gelu_tanh},
    {"gelu_fast", MlpKind::gelu_tanh},     {"gelu_python_tanh", MlpKind::gelu_tanh},
    {"gelu_accurate", MlpKind::gelu_tanh}, {"relu", MlpKind::relu}};

MlpKind activation_of(const Config& config, const std::string& key, const std::string& otherwise) {
  const std::string name = config.text(key, otherwise);
  std::string known;
  for (const NamedActivation& one : kActivations) {
    if (name == one.name) return one.kind;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  fail_usage("{}: \"{}\" is \"{}\"; known are {}", config.origin(), key, name, known);
}

std::string architecture_of(const Config& config) {
  if (!config.has("architectures")) return "";
  const Json& list = config.at("architectures");
  require(list.is_array() && !list.empty() && list[0].is_string(),
          "{}: \"architectures\" is no list of names", config.origin());
  return list[0].get<std::string>();
}

int64_t labels_of(const Config& config) {
  if (config.has("id2label") && config.at("id2label").is_object())
    return static_cast<int64_t>(config.at("id2label").size());
  return config.integer("num_labels", 2);
}

// Of a class, by its name without the family's stem. The bare model gets the head that pretraining
// gives it.
bool has_vocabulary_head(const std::string& name, Family family) {
  if (name == "Model") return true;
  switch (family) {
    case Family::gpt2: return name == "LMHeadModel";
    case Family::llama: return name == "ForCausalLM";
    case Family::bert:
      return name == "ForMaskedLM" || name == "LMHeadModel" || name == "ForPreTraining" ||
             name == "ForNextSentencePrediction";
    case Family::roberta: return name == "ForMaskedLM" || name == "ForCausalLM";
  }
  return false;
}

void read_head(const Config& config, Family family, ModelConfig& c) {
  const std::string name = architecture_of(config);
  const std::string stem = class_stem(family);
  require(name.empty() || name.starts_with(stem),
          "{}: the architecture {} is not known here; those of \"model_type\" {} begin with {}",
          config.origin(), name, name_of(family), stem);
  const std::string head = name.empty() ? "Model" : name.substr(stem.size());
  if (head == "ForSequenceClassification")
    c.head = Head::sequence;
  else if (head == "ForTokenClassification")
    c.head = Head::token;
  else
    require(has_vocabulary_head(head, family),
            "{}: the architecture {} has a head that is not known here; language models and "
            "classifiers of sequences and of tokens are",
            config.origin(), name);
  if (c.head != Head::vocabulary) c.labels = labels_of(config);
  require(c.head != Head::token || is_bert(c),
          "{}: {} has a head with a bias for every token, which models that see only what was "
          "before do not have here",
          config.origin(), name);
}

// One probability stands for all; where they differ, that of the residual stream does.
double dropout_of(const Config& config, const std::string& key, double otherwise) {
  return config.real(key, otherwise);
}

// A size that transformers takes under two names.
int64_t one_of_two(const Config& config, const std::string& key, const std::string& alias,
                   int64_t otherwise) {
  const int64_t value = config.integer(key, config.integer(alias, otherwise));
  require(!config.has(alias) || config.integer(alias) == value,
          "{}: \"{}\" is {}, but \"{}\", which means the same, is {}; take out the wrong one",
          config.origin(), key, value, alias, config.integer(alias, 0));
  return value;
}

void read_gpt2(const Config& config, ModelConfig& c) {
  c.d_model = one_of_two(config, "n_embd", "hidden_size", 768);
  c.n_layers = one_of_two(config, "n_layer", "num_hidden_layers", 12);
  c.n_heads = one_of_two(config, "n_head", "num_attention_heads", 12);
  c.context =
      one_of_two(config, "n_positions", "max_position_embeddings", config.integer("n_ctx", 1024));
  c.d_ff = config.integer("n_inner", 4 * c.d_model);
  c.activation = activation_of(config, "activation_function", "gelu_new");
  c.norm_epsilon = config.real("layer_norm_epsilon", 1e-5);
  c.dropout = dropout_of(config, "resid_pdrop", 0.1);
  if (!config.truth("scale_attn_weights", true))
    config.refuse("scale_attn_weights", "and attention here always divides its scores");
  config.refuse_true("scale_attn_by_inverse_layer_idx",
                     "and attention here scales alike in all layers");
  config.refuse_true("add_cross_attention", "and models here have no cross attention");
  c.tie_embeddings = config.truth("tie_word_embeddings", true);
}

void refuse_partial_turns(const Config& config) {
  if (config.real("partial_rotary_factor", 1) != 1)
    config.refuse("partial_rotary_factor", "and positions here turn whole heads");
}

// Newer releases of transformers prefer the number outside.
void read_rope_context(const Config& config, const Config& rope, ModelConfig& c) {
  const std::string key = "original_max_position_embeddings";
  const int64_t outside = config.integer(key, c.context);
  c.rope_context = rope.integer(key, outside);
  require(!config.has(key) || outside == c.rope_context,
          "{}: \"{}\" is {}, but {} beside it; take out the wrong one", rope.origin(), key,
          c.rope_context, outside);
}

// One of rope_parameters and rope_scaling, the newer and the older name of the same.
void read_rotary(const Config& config, const std::string& key, ModelConfig& c) {
  c.rope_theta = config.real("rope_theta", 10000);
  if (!config.has(key)) return;
  const Config rope = config.object(key);
  refuse_partial_turns(rope);
  c.rope_theta = rope.real("rope_theta", c.rope_theta);
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  if (type == "default") return;
  require(type == "linear" || type == "llama3",
          "{}: rotary positions are stretched by \"{}\"; linear and llama3 are known",
          rope.origin(), type);
  c.rope_scaling = type == "linear" ? RopeScaling::linear : RopeScaling::llama3;
  c.rope_factor = rope.real("factor");
  if (type == "linear") return;
  c.rope_low_frequency = rope.real("low_freq_factor");
  c.rope_high_frequency = rope.real("high_freq_factor");
  read_rope_context(config, rope, c);
}

void read_rotary(const Config& config, ModelConfig& c) {
  refuse_partial_turns(config);
  ModelConfig older = c;
  const bool both = config.has("rope_parameters") && config.has("rope_scaling") &&
                    !config.at("rope_scaling").empty();
  read_rotary(config, config.has("rope_parameters") ? "rope_parameters" : "rope_scaling", c);
  if (both) read_rotary(config, "rope_scaling", older);
  require(!both || model_values(older) == model_values(c),
          "{}: \"rope_parameters\" and \"rope_scaling\" are two names of the same and differ; take "
          "out the wrong one",
          config.origin());
}

void read_llama(const Config& config, ModelConfig& c) {
  c.positions = Positions::rotary;
  c.norm = ops::Norm::rms;
  c.activation = MlpKind::swiglu;
  c.d_model = config.integer("hidden_size");
  c.n_layers = config.integer("num_hidden_layers");
  c.n_heads = config.integer("num_attention_heads");
  c.n_kv_heads = config.integer("num_key_value_heads", c.n_heads);
  c.d_head = config.integer("head_dim", 0);
  c.d_ff = config.integer("intermediate_size");
  c.context = config.integer("max_position_embeddings", 2048);
  c.norm_epsilon = config.real("rms_norm_eps", 1e-6);
  c.attention_bias = config.truth("attention_bias", false);
  c.bias = config.truth("mlp_bias", false);
  if (c.bias && !c.attention_bias)
    config.refuse("mlp_bias",
                  "and the feed-forward layers here have no biases where attention has none");
  const std::string gate = config.text("hidden_act", "silu");
  if (gate != "silu" && gate != "swish")
    config.refuse("hidden_act", "and the gate of a Llama here is silu, also named swish");
  c.dropout = dropout_of(config, "attention_dropout", 0);
  c.tie_embeddings = config.truth("tie_word_embeddings", false);
  read_rotary(config, c);
}

bool has_either(const std::set<std::string>& names, const std::string& prefix,
                const std::string& name) {
  return names.contains(prefix + name) || names.contains(name);
}

// Whether a BERT's vocabulary head has one for pairs beside it.
bool has_pairs(const Config& config, const std::set<std::string>& names) {
  const std::string name = architecture_of(config);
  const bool masked_alone = name.empty() || name == "BertForMaskedLM" || name == "BertLMHeadModel";
  return !masked_alone || (has_either(names, "bert.", "pooler.dense.weight") &&
                           names.contains("cls.seq_relationship.weight"));
}

void read_bert(const Config& config, bool roberta, const std::set<std::string>& names,
               ModelConfig& c) {
  c.architecture = &bert_architecture();
  c.norm_placement = NormPlacement::post;
  c.embedding_norm = true;
  c.d_model = config.integer("hidden_size", 768);
  c.n_layers = config.integer("num_hidden_layers", 12);
  c.n_heads = config.integer("num_attention_heads", 12);
  c.d_ff = config.integer("intermediate_size", 4 * c.d_model);
  c.position_offset = roberta ? config.integer("pad_token_id", 1) + 1 : 0;
  c.context = config.integer("max_position_embeddings", 512) - c.position_offset;
  c.token_types = config.integer("type_vocab_size", 2);
  c.activation = activation_of(config, "hidden_act", "gelu");
  // transformers' RobertaLMHead does not ask what the blocks have.
  if (roberta && c.activation != MlpKind::gelu_erf)
    bert_options(c).head_activation = MlpKind::gelu_erf;
  c.norm_epsilon = config.real("layer_norm_eps", 1e-12);
  c.dropout = dropout_of(config, "hidden_dropout_prob", 0.1);
  config.refuse_true("is_decoder", "and encoders here see the whole sequence");
  config.refuse_true("add_cross_attention", "and models here have no cross attention");
  if (config.text("position_embedding_type", "absolute") != "absolute")
    config.refuse("position_embedding_type", "and only absolute ones are known");
  c.tie_embeddings = config.truth("tie_word_embeddings", true);
  read_head(config, roberta ? Family::roberta : Family::bert, c);
  const bool masks = c.head == Head::vocabulary;
  bert_options(c).pooler =
      c.head == Head::sequence || (!roberta && masks && has_pairs(config, names));
}

// What would make any of the families another model.
void refuse_other_attention(const Config& config, const ModelConfig& c) {
  const bool decodes = is_gpt(c);
  if (config.truth("is_causal", decodes) != decodes)
    config.refuse("is_causal", decodes ? "and decoders here see only what was before"
                                       : "and encoders here see the whole sequence");
  if (config.has("auto_map") && !config.at("auto_map").empty())
    config.refuse("auto_map",
                  "so the model has code of its own, which is not known here; if it computes what "
                  "transformers' class does, take \"auto_map\" out");
}

}  // namespace

TaskNotes label_notes(const std::string& text, const std::string& origin,
                      const ModelConfig& model) {
  const Config config(text, origin);
  if (model.head == Head::vocabulary ||
      config.text("problem_type", "") == "multi_label_classification")
    return {};
  LabelHead head;
  head.kind = model.head == Head::token ? LabelKind::tag
              : model.labels == 1       ? LabelKind::regress
                                        : LabelKind::classify;
  head.metric = metric_of(head.kind, LabelMetric::automatic);
  head.length = model.context;
  head.framed = is_gpt(model);
  if (head.kind == LabelKind::regress) return to_notes(head, 0);
  if (!config.has("id2label") || !config.at("id2label").is_object()) return {};
  std::set<std::string> known;
  for (int64_t i = 0; i < model.labels; ++i) {
    const auto found = config.at("id2label").find(std::to_string(i));
    if (found == config.at("id2label").end() || !found->is_string() ||
        !known.insert(found->get<std::string>()).second)
      return {};
    head.labels.push_back(found->get<std::string>());
  }
  return to_notes(head, 0);
}

std::map<std::string, std::string> model_values(const ModelConfig& model) {
  ModelConfig copy = model;
  Options options("", "");
  bind(options, copy);
  const auto values = options.values();
  return {values.begin(), values.end()};
}

ModelConfig model_from_huggingface(const std::string& text, const std::string& origin,
                                   const std::set<std::string>& names) {
  const Config config(text, origin);
  const std::string type = config.text("model_type", "");
  if (config.has("quantization_config"))
    fail_usage("{} is of a quantised model; bring its weights to f32, f16 or bf16 first", origin);
  ModelConfig c;
  if (type == "gpt2")
    read_gpt2(config, c);
  else if (type == "llama")
    read_llama(config, c);
  else if (type == "bert" || type == "roberta")
    read_bert(config, type == "roberta", names, c);
  else
    fail_usage("{}: \"model_type\" is \"{}\"; gpt2, llama, bert and roberta are known", origin,
               type);
  if (is_gpt(c)) read_head(config, type == "gpt2" ? Family::gpt2 : Family::llama, c);
  refuse_other_attention(config, c);
  c.vocab_size = config.integer("vocab_size");
  c.init_std = config.real("initializer_range", 0.02);
  try {
    check(c, 1, false);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}, in our options: {}", origin, error.what()));
  }
  return c;
}

}  // namespace skein
