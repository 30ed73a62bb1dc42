// GPT-NeoX, of which Pythia is made.
#include "skein/models/gpt/gpt.h"

#include "families.h"

namespace skein::convert {
namespace {

std::vector<Demand> gpt_neox_demands(const ModelConfig& c) {
  return decoder_demands(
      c, {full_attention(c),
          {c.positions == Positions::rotary, "model.positions=rotary"},
          {c.norm == ops::Norm::layer && c.norm_placement == NormPlacement::pre,
           "layer norm before each half block"},
          plain_activation(c),
          {c.bias && c.attention_out_bias, "model.bias=true and model.attention_out_bias=true"},
          {!c.qk_norm, "model.qk_norm=false"},
          plain_heads(c)});
}

// Queries, keys and values of a head, then of the next one.
void add_dealt(NameCollector& names, const std::string& theirs, const std::string& ours) {
  const int64_t width = names.c.d_model, heads = names.c.n_heads;
  ForeignTensor weight{theirs + ".weight", {}, {3 * width, width}, false, {}},
      bias{theirs + ".bias", {}, {3 * width}, false, {}};
  weight.dealt_heads = bias.dealt_heads = heads;
  for (const char* one : {".q", ".k", ".v"}) {
    weight.parts.push_back({ours + one + ".weight", {width, width}});
    bias.parts.push_back({ours + one + ".bias", {width}});
  }
  names.map.tensors.insert(names.map.tensors.end(), {weight, bias});
}

void add_gpt_neox_block(NameCollector& names, const std::string& theirs, const std::string& ours) {
  const int64_t width = names.c.d_model, hidden = names.c.hidden();
  names.layer_norm(theirs + ".input_layernorm", ours + ".norm_1");
  names.layer_norm(theirs + ".post_attention_layernorm", ours + ".norm_2");
  add_dealt(names, theirs + ".attention.query_key_value", ours + ".attention");
  names.linear(theirs + ".attention.dense", ours + ".attention.out", width, width, true);
  names.linear(theirs + ".mlp.dense_h_to_4h", ours + ".mlp.up", hidden, width, true);
  names.linear(theirs + ".mlp.dense_4h_to_h", ours + ".mlp.down", width, hidden, true);
}

// The name of the head that all releases of transformers read, and that of some since the fifth.
void add_head(NameCollector& names, const std::string& tokens) {
  add_decoder_head(names, tokens);
  ForeignTensor& last = names.map.tensors.back();
  if (last.name == "lm_head.weight") {
    last.name = "embed_out.weight";
    last.other_names = {"lm_head.weight"};
  }
  if (!names.map.second_uses.empty()) names.map.second_uses.push_back({"embed_out.weight", tokens});
}

NameMap gpt_neox_names(const ModelConfig& c) {
  const std::string tokens = "gpt_neox.embed_in.weight";
  NameCollector names(c, "gpt_neox.");
  names.same(tokens, "embedding.tokens.weight", {c.vocab_size, c.d_model});
  for (int64_t i = 0; i < c.n_layers; ++i)
    add_gpt_neox_block(names, fmt::format("gpt_neox.layers.{}", i), names.block(i));
  names.layer_norm("gpt_neox.final_layer_norm", "final_norm");
  add_head(names, tokens);
  for (const char* one : {"bias", "masked_bias", "rotary_emb.inv_freq"})
    names.map.buffers.push_back(fmt::format("gpt_neox.layers.*.attention.{}", one));
  return names.map;
}

void gpt_neox_keys(ForeignConfig& keys, ModelConfig& c) {
  keys.size("hidden_size", c.d_model, 6144);
  keys.size("num_hidden_layers", c.n_layers, 44);
  keys.size("num_attention_heads", c.n_heads, 64);
  keys.size("intermediate_size", c.d_ff, 24576);
  keys.size("max_position_embeddings", c.context, 2048);
  keys.activation("hidden_act", c.activation, "gelu");
  keys.real("layer_norm_eps", c.norm_epsilon, 1e-5);
  keys.real("hidden_dropout", c.dropout, 0);
  keys.write("attention_dropout", c.dropout_of_attention());
  keys.truth("use_parallel_residual", c.parallel_blocks, true);
  keys.must_be("attention_bias", true, "and attention of this family has biases here");
  rotary_keys(keys, c, {"rotary_emb_base", "rotary_pct", 0.25});
}

}  // namespace

const ForeignFamily& gpt_neox_family() {
  static const ForeignFamily only{"gpt_neox",
                                  "GPTNeoX",
                                  {"ForCausalLM"},
                                  gpt_architecture(),
                                  gpt_neox_demands,
                                  gpt_neox_names,
                                  gpt_neox_keys,
                                  {},
                                  false};
  return only;
}

}  // namespace skein::convert
