#include "skein/models/gpt/gpt.h"

#include "families.h"

namespace skein::convert {
namespace {

std::vector<Demand> plain_llama_demands(const ModelConfig& c) {
  std::vector<Demand> own = plain_blocks(c);
  own.push_back(full_attention(c));
  return llama_demands(c, own);
}

void add_norms(NameCollector& names, const std::string& theirs, const std::string& ours) {
  const auto add = [&](const char* name, const char* norm) {
    names.same(theirs + name + "_layernorm.weight", ours + norm + ".gain", {names.c.d_model});
  };
  add(".input", ".norm_1");
  if (names.c.norm_placement != NormPlacement::sandwich) return add(".post_attention", ".norm_2");
  add(".post_attention", ".result_norm_1");
  add(".pre_feedforward", ".norm_2");
  add(".post_feedforward", ".result_norm_2");
}

void add_llama_block(NameCollector& names, const std::string& theirs, const std::string& ours) {
  const ModelConfig& c = names.c;
  const int64_t width = c.d_model, hidden = c.hidden(), queries = c.n_heads * c.head_width(),
                keys = c.kv_heads() * c.head_width();
  const bool biased = c.bias || c.attention_bias;
  names.linear(theirs + ".self_attn.q_proj", ours + ".attention.q", queries, width, biased);
  names.linear(theirs + ".self_attn.k_proj", ours + ".attention.k", keys, width, biased);
  names.linear(theirs + ".self_attn.v_proj", ours + ".attention.v", keys, width, biased);
  names.linear(theirs + ".self_attn.o_proj", ours + ".attention.out", width, queries,
               biased && c.attention_out_bias);
  if (c.qk_norm)
    for (const char* of : {".q_norm", ".k_norm"})
      names.same(theirs + ".self_attn" + of + ".weight", ours + ".attention" + of + ".gain",
                 {c.head_width()});
  names.linear(theirs + ".mlp.gate_proj", ours + ".mlp.gate", hidden, width, c.bias);
  names.linear(theirs + ".mlp.up_proj", ours + ".mlp.up", hidden, width, c.bias);
  names.linear(theirs + ".mlp.down_proj", ours + ".mlp.down", width, hidden, c.bias);
  add_norms(names, theirs, ours);
}

void plain_llama_keys(ForeignConfig& keys, ModelConfig& c) {
  c.attention_bias = c.attention_bias || c.bias;  // ours are implied by c.bias, theirs are not
  llama_keys(keys, c);
  keys.truth("attention_bias", c.attention_bias, false);
  keys.truth("mlp_bias", c.bias, false);
  if (c.bias && !c.attention_bias)
    keys.refuse("mlp_bias",
                "and the feed-forward layers here have no biases where attention has none");
}

}  // namespace

std::vector<Demand> llama_demands(const ModelConfig& c, std::vector<Demand> own) {
  own.insert(own.begin(), whole_turns(c));
  return llama_layer_demands(c, own);
}

Demand whole_turns(const ModelConfig& c) {
  return {c.rope_width == 0 || c.rope_width == c.head_width(), "model.rope_width=0"};
}

std::vector<Demand> llama_layer_demands(const ModelConfig& c, std::vector<Demand> own) {
  own.insert(own.begin(), {{c.positions == Positions::rotary, "model.positions=rotary"},
                           {c.norm == ops::Norm::rms && c.norm_placement == NormPlacement::pre,
                            "RMS norm before each half block"},
                           {c.activation == MlpKind::swiglu, "model.activation=swiglu"}});
  return decoder_demands(c, own);
}

NameMap llama_names(const ModelConfig& c) { return llama_names_by(c, add_llama_block); }

NameMap llama_names_by(const ModelConfig& c, AddBlock add) {
  NameCollector names(c, "model.");
  names.same("model.embed_tokens.weight", "embedding.tokens.weight", {c.vocab_size, c.d_model});
  for (int64_t i = 0; i < c.n_layers; ++i)
    add(names, fmt::format("model.layers.{}", i), names.block(i));
  names.same("model.norm.weight", "final_norm.gain", {c.d_model});
  add_decoder_head(names, "model.embed_tokens.weight");
  names.map.buffers = {"model.layers.*.self_attn.rotary_emb.inv_freq"};
  return names.map;
}

void llama_keys(ForeignConfig& keys, ModelConfig& c, const LlamaDefaults& defaults) {
  c.norm = ops::Norm::rms;
  c.activation = MlpKind::swiglu;
  if (keys.reads()) c.bias = false;
  keys.size("hidden_size", c.d_model);
  keys.size("num_hidden_layers", c.n_layers);
  keys.size("num_attention_heads", c.n_heads);
  const bool says_none = keys.mentions("num_key_value_heads") || defaults.key_heads == 0;
  keys.size("num_key_value_heads", c.n_kv_heads, says_none ? c.n_heads : defaults.key_heads);
  keys.size("head_dim", c.d_head, defaults.head_width);
  keys.size("intermediate_size", c.d_ff);
  keys.size("max_position_embeddings", c.context, defaults.context);
  keys.real("rms_norm_eps", c.norm_epsilon, defaults.epsilon);
  const std::string gate = keys.text("hidden_act", "silu");
  if (gate != "silu" && gate != "swish")
    keys.refuse("hidden_act", "and the gate of such a model here is silu, also named swish");
  keys.write("hidden_act", gate);
  keys.real("attention_dropout", c.dropout, 0);
  rotary_keys(keys, c, defaults.rotary);
}

const ForeignFamily& llama_family() {
  static const ForeignFamily only{"llama",
                                  "Llama",
                                  {"ForCausalLM"},
                                  gpt_architecture(),
                                  plain_llama_demands,
                                  llama_names,
                                  plain_llama_keys,
                                  {},
                                  false};
  return only;
}

}  // namespace skein::convert
