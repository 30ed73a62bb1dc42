#include "skein/models/vit/vit.h"

#include "families.h"

namespace skein::convert {
namespace {

std::vector<Demand> vit_demands(const ModelConfig& c) {
  std::vector<Demand> all = picture_demands(c);
  all.push_back({c.positions == Positions::learned, "model.positions=learned"});
  all.push_back({!c.embedding_norm, "model.embedding_norm=false"});
  all.push_back({vit_options(c) == VitOptions{}, "a class token that is read"});
  return all;
}

NameMap vit_names(const ModelConfig& c) {
  NameCollector names(c, "vit.");
  const int64_t width = c.d_model;
  names.map.tensors.push_back({.name = "vit.embeddings.cls_token",
                               .shape = {1, 1, width},
                               .parts = {{"embedding.class", {1, width}}}});
  names.map.tensors.push_back({.name = "vit.embeddings.position_embeddings",
                               .shape = {1, c.context, width},
                               .parts = {{"embedding.positions.weight", {c.context, width}}}});
  add_patches(names);
  for (int64_t i = 0; i < c.n_layers; ++i)
    add_picture_block(names, fmt::format("vit.encoder.layer.{}", i), names.block(i), width,
                      c.hidden());
  names.layer_norm("vit.layernorm", "final_norm");
  names.linear("classifier", "classifier", c.labels, width, true);
  names.map.buffers = {"vit.pooler.dense.weight", "vit.pooler.dense.bias",
                       "vit.embeddings.mask_token"};
  return names.map;
}

void vit_keys(ForeignConfig& keys, ModelConfig& c) {
  keys.size("hidden_size", c.d_model, 768);
  keys.size("num_hidden_layers", c.n_layers, 12);
  keys.size("num_attention_heads", c.n_heads, 12);
  keys.size("intermediate_size", c.d_ff, 3072);
  keys.real("layer_norm_eps", c.norm_epsilon, 1e-12);
  picture_keys(keys, c, 16);
  if (keys.reads()) ++c.context;
}

}  // namespace

const ForeignFamily& vit_family() {
  static const ForeignFamily only{"vit",       "ViT",     {},      vit_architecture(),
                                  vit_demands, vit_names, vit_keys};
  return only;
}

}  // namespace skein::convert
