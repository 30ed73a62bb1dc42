#include "skein/convert/family.h"

#include <vector>

#include "skein/convert/huggingface_config.h"
#include "skein/core/error.h"
#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"

namespace skein {
namespace {

struct Demand {
  bool met;
  std::string option;
};

// The options that stand in the way, "" when none does.
std::string obstacles(const std::vector<Demand>& demands) {
  std::string text;
  for (const Demand& demand : demands)
    if (!demand.met) text += (text.empty() ? "" : ", ") + demand.option;
  return text;
}

std::string gpt2_obstacles(const ModelConfig& c) {
  return obstacles(
      {{is_gpt(c), "model.architecture=gpt"},
       {c.positions == Positions::learned && c.position_offset == 0,
        "model.positions=learned from row 0"},
       {c.norm == ops::Norm::layer && c.norm_placement == NormPlacement::pre,
        "layer norm before each half block"},
       {c.activation != MlpKind::swiglu, "model.activation other than swiglu"},
       {c.bias, "model.bias=true"},
       {c.kv_heads() == c.n_heads && c.head_width() * c.n_heads == c.d_model,
        "as many key heads as query heads, together as wide as model.d_model"},
       {c.window == 0, "model.window=0"},
       {c.head != Head::token, "model.head other than token"},
       {c.token_types == 0 && !c.embedding_norm, "no token types and no norm of the embeddings"}});
}

std::string llama_obstacles(const ModelConfig& c) {
  return obstacles(
      {{is_gpt(c), "model.architecture=gpt"},
       {c.positions == Positions::rotary, "model.positions=rotary"},
       {c.norm == ops::Norm::rms && c.norm_placement == NormPlacement::pre,
        "RMS norm before each half block"},
       {c.activation == MlpKind::swiglu, "model.activation=swiglu"},
       {c.window == 0, "model.window=0"},
       {c.head != Head::token, "model.head other than token"},
       {c.token_types == 0 && !c.embedding_norm, "no token types and no norm of the embeddings"}});
}

std::string option_value(MlpKind kind) {
  ModelConfig shown;
  shown.activation = kind;
  return model_values(shown).at("model.activation");
}

// What the dense layer of the vocabulary head has to be followed by.
Demand head_activation_demand(const ModelConfig& c, bool roberta) {
  const MlpKind wanted = roberta ? MlpKind::gelu_erf : c.activation, has = head_activation(c);
  const bool has_none = !is_bert(c) || c.head != Head::vocabulary;
  if (has_none || has == wanted) return {true, ""};
  const char* why = bert_options(c).head_activation ? "" : ", as model.activation says";
  return {false, fmt::format("model.head_activation={} (the model has {} there{})",
                             option_value(wanted), option_value(has), why)};
}

std::string bert_obstacles(const ModelConfig& c, bool roberta) {
  return obstacles({{is_bert(c), "model.architecture=bert"},
                    {c.positions == Positions::learned, "model.positions=learned"},
                    {roberta ? c.position_offset > 0 : c.position_offset == 0,
                     roberta ? "model.position_offset above 0" : "model.position_offset=0"},
                    {c.norm == ops::Norm::layer && c.norm_placement == NormPlacement::post,
                     "layer norm after each half block"},
                    {c.activation != MlpKind::swiglu, "model.activation other than swiglu"},
                    head_activation_demand(c, roberta),
                    {c.bias && c.embedding_norm, "model.bias and model.embedding_norm"},
                    {c.token_types > 0, "model.token_types above 0"},
                    {c.kv_heads() == c.n_heads && c.head_width() * c.n_heads == c.d_model,
                     "as many key heads as query heads, together as wide as model.d_model"},
                    {c.window == 0, "model.window=0"},
                    {bert_options(c).pool == Pool::first, "model.pool=first"},
                    {!roberta || !(c.head == Head::vocabulary && bert_options(c).pooler),
                     "no pooler beside the vocabulary head"}});
}

}  // namespace

std::string class_stem(Family family) {
  switch (family) {
    case Family::gpt2: return "GPT2";
    case Family::llama: return "Llama";
    case Family::bert: return "Bert";
    case Family::roberta: return "Roberta";
  }
  return "?";
}

std::string name_of(Family family) {
  switch (family) {
    case Family::gpt2: return "gpt2";
    case Family::llama: return "llama";
    case Family::bert: return "bert";
    case Family::roberta: return "roberta";
  }
  return "?";
}

Family family_of(const ModelConfig& config) {
  std::string reasons;
  for (const Family family : {Family::gpt2, Family::llama, Family::bert, Family::roberta}) {
    const std::string text = family == Family::gpt2 ? gpt2_obstacles(config)
                             : family == Family::llama
                                 ? llama_obstacles(config)
                                 : bert_obstacles(config, family == Family::roberta);
    if (text.empty()) return family;
    reasons += fmt::format("\n  {} needs {}", name_of(family), text);
  }
  fail_usage("no family of models that other programs know has this model's options:{}", reasons);
}

}  // namespace skein
