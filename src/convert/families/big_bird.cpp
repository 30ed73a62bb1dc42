// Where transformers evaluates such a model, all blocks that its training draws are the first one:
// attention.drawn=false.
#include "skein/models/bert/bert.h"

#include "families.h"

namespace skein::convert {
namespace {

const std::vector<std::string> kSparse{"bigbird"};

std::vector<Demand> big_bird_demands(const ModelConfig& c) {
  std::vector<Demand> all =
      encoder_demands(c, {c.position_offset == 0, "model.position_offset=0"}, c.activation);
  const bool sparse = c.attention.kinds == kSparse;
  all.push_back({sparse || c.attention.is_full(), "attention.kind=bigbird or full"});
  all.push_back({!sparse || !c.attention.other.drawn, "attention.drawn=false"});
  if (c.head == Head::sequence)
    all.push_back({bert_options(c).pooler_activation == c.activation,
                   "model.pooler_activation equal to model.activation"});
  else
    all.push_back(tanh_pooler(c));
  return all;
}

// A classifier of texts reads the first token itself and leaves the model's own pooler alone.
NameMap big_bird_names(const ModelConfig& c) {
  if (c.head != Head::sequence) return bert_names(c, "bert.pooler");
  NameCollector names(c, "bert.");
  add_encoder(names);
  add_dense_classifier(names);
  return names.map;
}

void attention_keys(ForeignConfig& keys, ModelConfig& c) {
  SightSpec& sight = c.attention.other;
  if (keys.reads()) {
    const std::string kind = keys.text("attention_type", "block_sparse");
    if (kind != "block_sparse" && kind != "original_full")
      keys.refuse("attention_type", "and block_sparse and original_full are known");
    if (kind == "block_sparse") {
      c.attention.kinds = kSparse;
      sight.block = keys.integer("block_size", 64);
      sight.random = keys.integer("num_random_blocks", 3);
      sight.drawn = false;
    }
  }
  const bool sparse = c.attention.kinds == kSparse;
  keys.write("attention_type", sparse ? "block_sparse" : "original_full");
  keys.write("block_size", sight.block);
  keys.write("num_random_blocks", sight.random);
}

void read_pooler(const ForeignConfig& keys, ModelConfig& c) {
  BertOptions& own = bert_options(c);
  const bool classifies = c.head == Head::sequence;
  own.pooler = classifies || (c.head == Head::vocabulary && keys.has_tensor("bert.pooler.weight") &&
                              keys.has_tensor("cls.seq_relationship.weight"));
  if (classifies) own.pooler_activation = c.activation;
}

void big_bird_keys(ForeignConfig& keys, ModelConfig& c) {
  encoder_keys(keys, c);
  if (keys.reads() && !keys.has("hidden_act")) c.activation = MlpKind::gelu_tanh;
  attention_keys(keys, c);
  keys.must_be("use_bias", true, "and models of this family have biases here");
  keys.refuse_true("rescale_embeddings", "and embeddings of this family are not scaled here");
  const bool masks = c.head == Head::vocabulary;
  if (keys.reads()) read_pooler(keys, c);
  if (masks && bert_options(c).pooler)
    keys.write("architectures", ForeignJson::array({"BigBirdForPreTraining"}));
}

}  // namespace

const ForeignFamily& big_bird_family() {
  static const ForeignFamily only{
      "big_bird",          "BigBird",        {"ForMaskedLM", "ForPreTraining"},
      bert_architecture(), big_bird_demands, big_bird_names,
      big_bird_keys};
  return only;
}

}  // namespace skein::convert
