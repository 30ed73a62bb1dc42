#include "skein/models/bert/bert.h"

#include "families.h"

namespace skein::convert {
namespace {

// transformers' RobertaLMHead does not ask what the blocks have.
constexpr MlpKind kOfHead = MlpKind::gelu_erf;

std::vector<Demand> plain_roberta_demands(const ModelConfig& c) {
  std::vector<Demand> all = roberta_demands(c);
  all.push_back(full_attention(c));
  return all;
}

NameMap roberta_names(const ModelConfig& c) {
  NameCollector names(c, "roberta.");
  add_encoder(names);
  add_roberta_head(names);
  return names.map;
}

}  // namespace

std::vector<Demand> roberta_demands(const ModelConfig& c) {
  std::vector<Demand> all =
      encoder_demands(c, {c.position_offset > 0, "model.position_offset above 0"}, kOfHead);
  all.push_back({!(c.head == Head::vocabulary && bert_options(c).pooler),
                 "no pooler beside the vocabulary head"});
  all.push_back(tanh_pooler(c));
  return all;
}

void add_roberta_head(NameCollector& names) {
  const ModelConfig& c = names.c;
  if (c.head == Head::vocabulary) {
    add_vocabulary_head(names, "lm_head.dense", "lm_head.layer_norm", "lm_head.decoder",
                        "lm_head.bias");
  } else if (c.head == Head::sequence) {
    add_dense_classifier(names);
  } else {
    names.linear("classifier", "classifier", c.labels, c.d_model, true);
  }
}

void roberta_keys(ForeignConfig& keys, ModelConfig& c) {
  if (keys.reads()) c.position_offset = keys.integer("pad_token_id", 1) + 1;
  encoder_keys(keys, c);
  keys.write("pad_token_id", c.position_offset - 1);
  if (!keys.reads()) return;
  if (c.activation != kOfHead) bert_options(c).head_activation = kOfHead;
  bert_options(c).pooler = c.head == Head::sequence;
}

const ForeignFamily& roberta_family() {
  static const ForeignFamily only{"roberta",
                                  "Roberta",
                                  {"ForMaskedLM", "ForCausalLM"},
                                  bert_architecture(),
                                  plain_roberta_demands,
                                  roberta_names,
                                  roberta_keys};
  return only;
}

// RoBERTas by other names; what was made here is written as a RoBERTa.
const ForeignFamily& xlm_roberta_family() {
  static const ForeignFamily only{
      "xlm-roberta",       "XLMRoberta",          {"ForMaskedLM", "ForCausalLM"},
      bert_architecture(), plain_roberta_demands, roberta_names,
      roberta_keys};
  return only;
}

const ForeignFamily& camembert_family() {
  static const ForeignFamily only{
      "camembert",         "Camembert",           {"ForMaskedLM", "ForCausalLM"},
      bert_architecture(), plain_roberta_demands, roberta_names,
      roberta_keys};
  return only;
}

}  // namespace skein::convert
