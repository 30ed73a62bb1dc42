#include "skein/models/bert/bert.h"

#include "families.h"

namespace skein::convert {
namespace {

// The vocabulary head has the blocks' activation.
std::vector<Demand> bert_demands(const ModelConfig& c) {
  std::vector<Demand> all =
      encoder_demands(c, {c.position_offset == 0, "model.position_offset=0"}, c.activation);
  all.push_back(full_attention(c));
  all.push_back(tanh_pooler(c));
  return all;
}

NameMap pooled_bert_names(const ModelConfig& c) { return bert_names(c, "bert.pooler.dense"); }

// Whether the vocabulary head has one for pairs beside it.
bool has_pairs(const ForeignConfig& keys) {
  const std::string name = keys.class_name();
  const bool masked_alone = name.empty() || name == "BertForMaskedLM" || name == "BertLMHeadModel";
  return !masked_alone ||
         ((keys.has_tensor("bert.pooler.dense.weight") || keys.has_tensor("pooler.dense.weight")) &&
          keys.has_tensor("cls.seq_relationship.weight"));
}

void bert_keys(ForeignConfig& keys, ModelConfig& c) {
  encoder_keys(keys, c);
  const bool masks = c.head == Head::vocabulary;
  if (keys.reads()) bert_options(c).pooler = c.head == Head::sequence || (masks && has_pairs(keys));
  if (masks && bert_options(c).pooler)
    keys.write("architectures", ForeignJson::array({"BertForPreTraining"}));
}

}  // namespace

NameMap bert_names(const ModelConfig& c, const std::string& pooling) {
  NameCollector names(c, "bert.");
  add_encoder(names);
  const bool pooler = bert_options(c).pooler;
  if (pooler) names.linear(pooling, "pooler", c.d_model, c.d_model, true);
  if (c.head == Head::vocabulary) {
    add_vocabulary_head(names, "cls.predictions.transform.dense",
                        "cls.predictions.transform.LayerNorm", "cls.predictions.decoder",
                        "cls.predictions.bias");
    if (pooler) names.linear("cls.seq_relationship", "pair", 2, c.d_model, true);
  } else {
    names.linear("classifier", "classifier", c.labels, c.d_model, true);
  }
  return names.map;
}

const ForeignFamily& bert_family() {
  static const ForeignFamily only{
      "bert",
      "Bert",
      {"ForMaskedLM", "LMHeadModel", "ForPreTraining", "ForNextSentencePrediction"},
      bert_architecture(),
      bert_demands,
      pooled_bert_names,
      bert_keys};
  return only;
}

}  // namespace skein::convert
