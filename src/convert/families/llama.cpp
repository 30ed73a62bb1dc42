#include "skein/models/gpt/gpt.h"

#include "families.h"

namespace skein::convert {
namespace {

std::vector<Demand> demands(const ModelConfig& c) {
  return decoder_demands(c, {{c.positions == Positions::rotary, "model.positions=rotary"},
                             {c.norm == ops::Norm::rms && c.norm_placement == NormPlacement::pre,
                              "RMS norm before each half block"},
                             {c.activation == MlpKind::swiglu, "model.activation=swiglu"}});
}

void add_block(NameCollector& names, const std::string& theirs, const std::string& ours) {
  const ModelConfig& c = names.c;
  const int64_t width = c.d_model, hidden = c.hidden(), queries = c.n_heads * c.head_width(),
                keys = c.kv_heads() * c.head_width();
  const bool biased = c.bias || c.attention_bias;
  names.linear(theirs + ".self_attn.q_proj", ours + ".attention.q", queries, width, biased);
  names.linear(theirs + ".self_attn.k_proj", ours + ".attention.k", keys, width, biased);
  names.linear(theirs + ".self_attn.v_proj", ours + ".attention.v", keys, width, biased);
  names.linear(theirs + ".self_attn.o_proj", ours + ".attention.out", width, queries, biased);
  names.linear(theirs + ".mlp.gate_proj", ours + ".mlp.gate", hidden, width, c.bias);
  names.linear(theirs + ".mlp.up_proj", ours + ".mlp.up", hidden, width, c.bias);
  names.linear(theirs + ".mlp.down_proj", ours + ".mlp.down", width, hidden, c.bias);
  names.same(theirs + ".input_layernorm.weight", ours + ".norm_1.gain", {width});
  names.same(theirs + ".post_attention_layernorm.weight", ours + ".norm_2.gain", {width});
}

NameMap names(const ModelConfig& c) {
  NameCollector names(c, "model.");
  names.same("model.embed_tokens.weight", "embedding.tokens.weight", {c.vocab_size, c.d_model});
  for (int64_t i = 0; i < c.n_layers; ++i)
    add_block(names, fmt::format("model.layers.{}", i), names.block(i));
  names.same("model.norm.weight", "final_norm.gain", {c.d_model});
  add_decoder_head(names, "model.embed_tokens.weight");
  names.map.buffers = {"model.layers.*.self_attn.rotary_emb.inv_freq"};
  return names.map;
}

void refuse_partial_turns(const ForeignConfig& config) {
  if (config.real("partial_rotary_factor", 1) != 1)
    config.refuse("partial_rotary_factor", "and positions here turn whole heads");
}

// Newer releases of transformers prefer the number outside.
void read_rope_context(const ForeignConfig& config, const ForeignConfig& rope, ModelConfig& c) {
  const std::string key = "original_max_position_embeddings";
  const int64_t outside = config.integer(key, c.context);
  c.rope_context = rope.integer(key, outside);
  require(!config.has(key) || outside == c.rope_context,
          "{}: \"{}\" is {}, but {} beside it; take out the wrong one", rope.origin(), key,
          c.rope_context, outside);
}

// One of rope_parameters and rope_scaling, the newer and the older name of the same.
void read_rotary(const ForeignConfig& config, const std::string& key, ModelConfig& c) {
  c.rope_theta = config.real("rope_theta", 10000);
  if (!config.has(key)) return;
  const ForeignConfig rope = config.object(key);
  refuse_partial_turns(rope);
  c.rope_theta = rope.real("rope_theta", c.rope_theta);
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  if (type == "default") return;
  require(type == "linear" || type == "llama3",
          "{}: rotary positions are stretched by \"{}\"; linear and llama3 are known",
          rope.origin(), type);
  c.rope_scaling = type == "linear" ? RopeScaling::linear : RopeScaling::llama3;
  c.rope_factor = rope.real("factor");
  if (type == "linear") return;
  c.rope_low_frequency = rope.real("low_freq_factor");
  c.rope_high_frequency = rope.real("high_freq_factor");
  read_rope_context(config, rope, c);
}

void read_rotary(const ForeignConfig& config, ModelConfig& c) {
  refuse_partial_turns(config);
  ModelConfig older = c;
  const bool both = config.has("rope_parameters") && config.has("rope_scaling") &&
                    !config.at("rope_scaling").empty();
  read_rotary(config, config.has("rope_parameters") ? "rope_parameters" : "rope_scaling", c);
  if (both) read_rotary(config, "rope_scaling", older);
  require(!both || model_values(older) == model_values(c),
          "{}: \"rope_parameters\" and \"rope_scaling\" are two names of the same and differ; take "
          "out the wrong one",
          config.origin());
}

ForeignJson rotary_json(const ModelConfig& c) {
  if (c.rope_scaling == RopeScaling::none) return nullptr;
  if (c.rope_scaling == RopeScaling::linear)
    return {{"rope_type", "linear"}, {"factor", c.rope_factor}};
  return {{"rope_type", "llama3"},
          {"factor", c.rope_factor},
          {"low_freq_factor", c.rope_low_frequency},
          {"high_freq_factor", c.rope_high_frequency},
          {"original_max_position_embeddings", c.rope_context}};
}

void layer_keys(ForeignConfig& keys, ModelConfig& c) {
  keys.size("hidden_size", c.d_model);
  keys.size("num_hidden_layers", c.n_layers);
  keys.size("num_attention_heads", c.n_heads);
  keys.size("num_key_value_heads", c.n_kv_heads, c.n_heads);
  keys.size("head_dim", c.d_head, 0);
  keys.size("intermediate_size", c.d_ff);
  keys.size("max_position_embeddings", c.context, 2048);
  keys.real("rms_norm_eps", c.norm_epsilon, 1e-6);
  const std::string gate = keys.text("hidden_act", "silu");
  if (gate != "silu" && gate != "swish")
    keys.refuse("hidden_act", "and the gate of a Llama here is silu, also named swish");
  keys.write("hidden_act", gate);
  keys.truth("attention_bias", c.attention_bias, false);
  keys.truth("mlp_bias", c.bias, false);
  if (c.bias && !c.attention_bias)
    keys.refuse("mlp_bias",
                "and the feed-forward layers here have no biases where attention has none");
  keys.real("attention_dropout", c.dropout, 0);
}

void keys(ForeignConfig& keys, ModelConfig& c) {
  c.positions = Positions::rotary;
  c.norm = ops::Norm::rms;
  c.activation = MlpKind::swiglu;
  c.attention_bias = c.attention_bias || c.bias;  // ours are implied by c.bias, theirs are not
  layer_keys(keys, c);
  if (keys.reads()) read_rotary(keys, c);
  keys.write("rope_theta", c.rope_theta);
  keys.write("rope_scaling", rotary_json(c));
}

}  // namespace

const ForeignFamily& llama_family() {
  static const ForeignFamily only{
      "llama", "Llama", {"ForCausalLM"}, gpt_architecture(), demands, names, keys, {}, false};
  return only;
}

}  // namespace skein::convert
