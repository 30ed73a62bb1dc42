#include "skein/models/mae/mae.h"

#include "families.h"

namespace skein::convert {
namespace {

bool is_square(const ModelConfig& c) {
  const PictureOptions& own = picture_options(c);
  return own.image_height == own.image_width && own.patch_height == own.width_of_patch();
}

std::vector<Demand> mae_demands(const ModelConfig& c) {
  std::vector<Demand> all = layer_demands(c);
  all.push_back({!c.embedding_norm, "model.embedding_norm=false"});
  all.push_back({is_square(c), "square pictures and patches"});
  return all;
}

void add_encoder(NameCollector& names, int64_t blocks) {
  const ModelConfig& c = names.c;
  const int64_t width = c.d_model, tokens = picture_options(c).patches() + 1;
  names.map.tensors.push_back({.name = "vit.embeddings.cls_token",
                               .shape = {1, 1, width},
                               .parts = {{"embedding.class", {1, width}}}});
  names.map.tensors.push_back({.name = "vit.embeddings.position_embeddings",
                               .shape = {1, tokens, width},
                               .parts = {{"embedding.positions.weight", {tokens, width}}}});
  add_patches(names);
  for (int64_t i = 0; i < blocks; ++i)
    add_picture_block(names, fmt::format("vit.encoder.layer.{}", i), names.block(i), width,
                      c.hidden());
  names.layer_norm("vit.layernorm", "final_norm");
}

// transformers 5 writes the decoder's blocks under a name of its own, and reads both.
void add_decoder_block(NameCollector& names, int64_t number, int64_t block) {
  const MaeOptions& own = mae_options(names.c);
  const std::string usual = fmt::format("decoder.decoder_layers.{}", number),
                    other = fmt::format("decoder.decoder_encoder.layer.{}", number);
  const size_t first = names.map.tensors.size();
  add_picture_block(names, usual, names.block(block), own.decoder_width, own.decoder_ff);
  for (size_t i = first; i < names.map.tensors.size(); ++i) {
    ForeignTensor& tensor = names.map.tensors[i];
    tensor.other_names = {other + tensor.name.substr(usual.size())};
  }
}

void add_decoder(NameCollector& names, int64_t first) {
  const ModelConfig& c = names.c;
  const int64_t width = mae_options(c).decoder_width, tokens = picture_options(c).patches() + 1;
  names.linear("decoder.decoder_embed", "decoder.embedding", width, c.d_model, true);
  names.map.tensors.push_back({.name = "decoder.mask_token",
                               .shape = {1, 1, width},
                               .parts = {{"decoder.mask", {1, width}}}});
  names.map.tensors.push_back({.name = "decoder.decoder_pos_embed",
                               .shape = {1, tokens, width},
                               .parts = {{"decoder.positions.weight", {tokens, width}}}});
  for (int64_t block = first; block < c.n_layers; ++block)
    add_decoder_block(names, block - first, block);
  names.same("decoder.decoder_norm.weight", "decoder.norm.gain", {width});
  names.same("decoder.decoder_norm.bias", "decoder.norm.bias", {width});
  names.linear("decoder.decoder_pred", "decoder.pixels", patch_spec(c).numbers, width, true);
}

NameMap mae_names(const ModelConfig& given) {
  const ModelConfig c = given.written_out();
  NameCollector names(c, "vit.");
  const int64_t first = c.n_layers - mae_options(c).decoder_layers;
  add_encoder(names, first);
  add_decoder(names, first);
  return names.map;
}

void layer_keys(ForeignConfig& keys, ModelConfig& c) {
  MaeOptions& own = mae_options(c);
  int64_t encoder = c.n_layers - own.decoder_layers, decoder = own.decoder_layers;
  keys.size("num_hidden_layers", encoder, 12);
  keys.size("decoder_num_hidden_layers", decoder, 8);
  keys.size("decoder_num_attention_heads", own.decoder_heads, 16);
  keys.size("decoder_hidden_size", own.decoder_width, 512);
  keys.size("decoder_intermediate_size", own.decoder_ff, 2048);
  if (!keys.reads()) return;
  for (const char* key :
       {"num_hidden_layers", "decoder_num_hidden_layers", "decoder_num_attention_heads",
        "decoder_hidden_size", "decoder_intermediate_size"})
    if (keys.has(key) && keys.integer(key) == 0)
      keys.refuse(key, "and a number above 0 belongs there");
  c.n_layers = encoder + decoder;
  own.decoder_layers = decoder;
}

void mae_keys(ForeignConfig& keys, ModelConfig& c) {
  if (keys.reads()) c.positions = Positions::sinusoidal;
  MaeOptions& own = mae_options(c);
  keys.size("hidden_size", c.d_model, 768);
  keys.size("num_attention_heads", c.n_heads, 12);
  keys.size("intermediate_size", c.d_ff, 3072);
  layer_keys(keys, c);
  keys.real("layer_norm_eps", c.norm_epsilon, 1e-12);
  keys.real("mask_ratio", own.mask_ratio, 0.75);
  keys.truth("norm_pix_loss", own.norm_pixels, false);
  picture_keys(keys, c, 16);
  if (!keys.reads()) return;
  if (!is_square(c))
    keys.refuse(picture_options(c).image_height == picture_options(c).image_width ? "patch_size"
                                                                                  : "image_size",
                "and masked autoencoders of transformers read squares only");
  c.context += 1 - c.architecture->picture_form(c).hidden;
}

}  // namespace

const ForeignFamily& mae_family() {
  static const ForeignFamily only{
      "vit_mae", "ViTMAE", {"ForPreTraining"}, mae_architecture(), mae_demands,
      mae_names, mae_keys};
  return only;
}

}  // namespace skein::convert
