#include "skein/models/gpt/gpt.h"

#include "families.h"

namespace skein::convert {
namespace {

std::vector<Demand> gpt2_demands(const ModelConfig& c) {
  std::vector<Demand> own = plain_blocks(c);
  own.insert(own.end(), {full_attention(c),
                         {c.positions == Positions::learned && c.position_offset == 0,
                          "model.positions=learned from row 0"},
                         {c.norm == ops::Norm::layer && c.norm_placement == NormPlacement::pre,
                          "layer norm before each half block"},
                         plain_activation(c),
                         {c.bias, "model.bias=true"},
                         plain_heads(c)});
  return decoder_demands(c, own);
}

// GPT-2's Conv1D: [inputs, outputs]; several of our layers of [outputs, inputs] side by side.
void add_conv1d(NameCollector& names, const std::string& theirs,
                const std::vector<std::string>& ours, int64_t outputs, int64_t inputs) {
  const int64_t whole = outputs * static_cast<int64_t>(ours.size());
  ForeignTensor weight{theirs + ".weight", {}, {inputs, whole}, true, {}},
      bias{theirs + ".bias", {}, {whole}, false, {}};
  for (const std::string& name : ours) {
    weight.parts.push_back({name + ".weight", {outputs, inputs}});
    bias.parts.push_back({name + ".bias", {outputs}});
  }
  names.map.tensors.insert(names.map.tensors.end(), {weight, bias});
}

void add_gpt2_block(NameCollector& names, const std::string& theirs, const std::string& ours) {
  const int64_t width = names.c.d_model, hidden = names.c.hidden();
  names.layer_norm(theirs + ".ln_1", ours + ".norm_1");
  add_conv1d(names, theirs + ".attn.c_attn",
             {ours + ".attention.q", ours + ".attention.k", ours + ".attention.v"}, width, width);
  add_conv1d(names, theirs + ".attn.c_proj", {ours + ".attention.out"}, width, width);
  names.layer_norm(theirs + ".ln_2", ours + ".norm_2");
  add_conv1d(names, theirs + ".mlp.c_fc", {ours + ".mlp.up"}, hidden, width);
  add_conv1d(names, theirs + ".mlp.c_proj", {ours + ".mlp.down"}, width, hidden);
}

NameMap gpt2_names(const ModelConfig& c) {
  NameCollector names(c, "transformer.");
  names.same("transformer.wte.weight", "embedding.tokens.weight", {c.vocab_size, c.d_model});
  names.same("transformer.wpe.weight", "embedding.positions.weight", {c.context, c.d_model});
  for (int64_t i = 0; i < c.n_layers; ++i)
    add_gpt2_block(names, fmt::format("transformer.h.{}", i), names.block(i));
  names.layer_norm("transformer.ln_f", "final_norm");
  add_decoder_head(names, "transformer.wte.weight");
  names.map.buffers = {"transformer.h.*.attn.bias", "transformer.h.*.attn.masked_bias"};
  return names.map;
}

void gpt2_keys(ForeignConfig& keys, ModelConfig& c) {
  keys.size("n_embd", c.d_model, 768, "hidden_size");
  keys.size("n_layer", c.n_layers, 12, "num_hidden_layers");
  keys.size("n_head", c.n_heads, 12, "num_attention_heads");
  keys.size("n_positions", c.context, keys.integer("n_ctx", 1024), "max_position_embeddings");
  keys.size("n_inner", c.d_ff, 4 * c.d_model);
  keys.activation("activation_function", c.activation, "gelu_new");
  keys.real("layer_norm_epsilon", c.norm_epsilon, 1e-5);
  keys.real("resid_pdrop", c.dropout, 0.1);
  keys.write("embd_pdrop", c.dropout);
  keys.write("attn_pdrop", c.dropout_of_attention());
  if (!keys.truth("scale_attn_weights", true))
    keys.refuse("scale_attn_weights", "and attention here always divides its scores");
  keys.write("scale_attn_weights", true);
  keys.refuse_true("scale_attn_by_inverse_layer_idx",
                   "and attention here scales alike in all layers");
  keys.refuse_true("add_cross_attention", "and models of this family have no cross attention here");
}

}  // namespace

const ForeignFamily& gpt2_family() {
  static const ForeignFamily only{
      "gpt2",
      "GPT2",
      {"LMHeadModel"},
      gpt_architecture(),
      gpt2_demands,
      gpt2_names,
      gpt2_keys,
      {"hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings"}};
  return only;
}

}  // namespace skein::convert
