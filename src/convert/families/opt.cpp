#include "skein/models/gpt/gpt.h"

#include "families.h"

namespace skein::convert {
namespace {

std::vector<Demand> opt_demands(const ModelConfig& c) {
  std::vector<Demand> own = plain_blocks(c);
  own.insert(own.end(), {full_attention(c),
                         {c.positions == Positions::learned && c.position_offset == kPaddingRows,
                          "model.positions=learned with model.position_offset=2"},
                         {c.norm == ops::Norm::layer && c.norm_placement == NormPlacement::pre &&
                              c.norm_epsilon == kUsualEpsilon,
                          "layer norm before each half block with model.norm_epsilon=1e-5"},
                         plain_activation(c),
                         {c.bias, "model.bias=true"},
                         plain_heads(c)});
  return decoder_demands(c, own);
}

void add_opt_block(NameCollector& names, const std::string& theirs, const std::string& ours) {
  const int64_t width = names.c.d_model, hidden = names.c.hidden();
  for (const char* one : {"q", "k", "v", "out"})
    names.linear(fmt::format("{}.self_attn.{}_proj", theirs, one),
                 fmt::format("{}.attention.{}", ours, one), width, width, true);
  names.layer_norm(theirs + ".self_attn_layer_norm", ours + ".norm_1");
  names.linear(theirs + ".fc1", ours + ".mlp.up", hidden, width, true);
  names.linear(theirs + ".fc2", ours + ".mlp.down", width, hidden, true);
  names.layer_norm(theirs + ".final_layer_norm", ours + ".norm_2");
}

NameMap opt_names(const ModelConfig& c) {
  const std::string base = "model.decoder.", tokens = base + "embed_tokens.weight";
  NameCollector names(c, "model.");
  names.same(tokens, "embedding.tokens.weight", {c.vocab_size, c.d_model});
  names.same(base + "embed_positions.weight", "embedding.positions.weight",
             {c.context + kPaddingRows, c.d_model});
  for (int64_t i = 0; i < c.n_layers; ++i)
    add_opt_block(names, fmt::format("{}layers.{}", base, i), names.block(i));
  names.layer_norm(base + "final_layer_norm", "final_norm");
  add_decoder_head(names, tokens);
  return names.map;
}

// What makes the models of 350 million parameters others than those of all other sizes.
void refuse_other_layouts(const ForeignConfig& keys, const ModelConfig& c) {
  keys.must_be("do_layer_norm_before", true,
               "and norms of this family stand before each half block");
  keys.refuse_true("_remove_final_layer_norm", "and models of this family end in a norm here");
  keys.must_be("enable_bias", true, "and all layers of this family have biases here");
  keys.must_be("layer_norm_elementwise_affine", true, "and norms here learn a gain and a bias");
  if (keys.integer("word_embed_proj_dim", c.d_model) != c.d_model)
    keys.refuse("word_embed_proj_dim",
                fmt::format("and embeddings here are as wide as the model, {}", c.d_model));
}

void opt_keys(ForeignConfig& keys, ModelConfig& c) {
  c.position_offset = kPaddingRows;
  c.norm_epsilon = kUsualEpsilon;
  keys.size("hidden_size", c.d_model, 768);
  keys.size("num_hidden_layers", c.n_layers, 12);
  keys.size("num_attention_heads", c.n_heads, 12);
  keys.size("ffn_dim", c.d_ff, 3072);
  keys.size("max_position_embeddings", c.context, 2048);
  keys.activation("activation_function", c.activation, "relu");
  keys.real("dropout", c.dropout, 0.1);
  keys.write("attention_dropout", c.dropout_of_attention());
  keys.write("word_embed_proj_dim", c.d_model);
  refuse_other_layouts(keys, c);
}

}  // namespace

const ForeignFamily& opt_family() {
  static const ForeignFamily only{"opt",       "OPT",     {"ForCausalLM"}, gpt_architecture(),
                                  opt_demands, opt_names, opt_keys,        {},
                                  true,        "init_std"};
  return only;
}

}  // namespace skein::convert
