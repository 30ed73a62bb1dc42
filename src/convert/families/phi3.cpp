// Phi-3: a Llama whose files hold queries, keys and values in one tensor, and both products that
// enter a feed-forward layer.
#include "skein/models/gpt/gpt.h"

#include "families.h"

namespace skein::convert {
namespace {

constexpr int64_t kUsualContext = 4096;

std::vector<Demand> phi3_demands(const ModelConfig& c) {
  std::vector<Demand> own = plain_blocks(c);
  own.push_back(one_window_or_none(c));
  own.push_back({!c.bias && !c.attention_bias, "model.bias=false and model.attention_bias=false"});
  own.push_back({c.rope_scaling == RopeScaling::none || c.rope_scaling == RopeScaling::longrope,
                 "model.rope_scaling=none or longrope"});
  return llama_layer_demands(c, own);
}

void add_phi3_block(NameCollector& names, const std::string& theirs, const std::string& ours) {
  const ModelConfig& c = names.c;
  const int64_t width = c.d_model, hidden = c.hidden(), queries = c.n_heads * c.head_width(),
                keys = c.kv_heads() * c.head_width();
  names.map.tensors.push_back({theirs + ".self_attn.qkv_proj.weight",
                               {},
                               {queries + 2 * keys, width},
                               false,
                               {{ours + ".attention.q.weight", {queries, width}},
                                {ours + ".attention.k.weight", {keys, width}},
                                {ours + ".attention.v.weight", {keys, width}}}});
  names.linear(theirs + ".self_attn.o_proj", ours + ".attention.out", width, queries, false);
  names.map.tensors.push_back(
      {theirs + ".mlp.gate_up_proj.weight",
       {},
       {2 * hidden, width},
       false,
       {{ours + ".mlp.gate.weight", {hidden, width}}, {ours + ".mlp.up.weight", {hidden, width}}}});
  names.linear(theirs + ".mlp.down_proj", ours + ".mlp.down", width, hidden, false);
  names.same(theirs + ".input_layernorm.weight", ours + ".norm_1.gain", {width});
  names.same(theirs + ".post_attention_layernorm.weight", ours + ".norm_2.gain", {width});
}

NameMap phi3_names(const ModelConfig& c) { return llama_names_by(c, add_phi3_block); }

void phi3_keys(ForeignConfig& keys, ModelConfig& c) {
  LlamaDefaults defaults{.context = kUsualContext, .epsilon = 1e-5};
  defaults.rotary = {.shares = true, .types = {"longrope"}, .usual_original = kUsualContext};
  llama_keys(keys, c, defaults);
  keys.real("resid_pdrop", c.dropout, 0);
  keys.write("embd_pdrop", c.dropout);
  keys.write("attention_dropout", c.dropout_of_attention());
  const bool longrope = c.rope_scaling == RopeScaling::longrope, whole = c.attention.is_full();
  if (keys.reads()) c.d_head = c.head_width();  // which files of this family leave out
  if (keys.reads() && keys.has("sliding_window"))
    c.attention = windowed(keys.integer("sliding_window"));
  if (longrope) keys.write("original_max_position_embeddings", c.rope_context);
  keys.write("sliding_window", whole ? ForeignJson() : ForeignJson(c.attention.windows.front()));
}

}  // namespace

const ForeignFamily& phi3_family() {
  static const ForeignFamily only{"phi3",       "Phi3",     {"ForCausalLM"}, gpt_architecture(),
                                  phi3_demands, phi3_names, phi3_keys,       {},
                                  false};
  return only;
}

}  // namespace skein::convert
