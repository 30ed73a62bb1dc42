#include "convert/gguf.h"

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/kernels/rotary_frequency.h"

#include "families.h"

namespace skein::convert {
namespace {

// Hugging Face's name of a layer, and llama.cpp's.
struct LayerName {
  const char *theirs, *name;
};

constexpr LayerName kGpt2Layers[] = {{"transformer.wte", "token_embd"},
                                     {"transformer.wpe", "position_embd"},
                                     {"transformer.ln_f", "output_norm"},
                                     {"lm_head", "output"},
                                     {"ln_1", "attn_norm"},
                                     {"attn.c_attn", "attn_qkv"},
                                     {"attn.c_proj", "attn_output"},
                                     {"ln_2", "ffn_norm"},
                                     {"mlp.c_fc", "ffn_up"},
                                     {"mlp.c_proj", "ffn_down"}};
constexpr LayerName kLlamaLayers[] = {{"model.embed_tokens", "token_embd"},
                                      {"model.norm", "output_norm"},
                                      {"lm_head", "output"},
                                      {"input_layernorm", "attn_norm"},
                                      {"self_attn.q_proj", "attn_q"},
                                      {"self_attn.k_proj", "attn_k"},
                                      {"self_attn.v_proj", "attn_v"},
                                      {"self_attn.o_proj", "attn_output"},
                                      {"post_attention_layernorm", "ffn_norm"},
                                      {"mlp.gate_proj", "ffn_gate"},
                                      {"mlp.up_proj", "ffn_up"},
                                      {"mlp.down_proj", "ffn_down"}};

bool is_gpt2(const ModelConfig& c) { return &family_of(c) == &gpt2_family(); }

// "blk.3.attn_q.weight" of "model.layers.3.self_attn.q_proj.weight".
std::string gguf_name(std::string theirs, const std::string& blocks,
                      std::span<const LayerName> layers) {
  std::string block;
  if (theirs.starts_with(blocks)) {
    const size_t dot = theirs.find('.', blocks.size());
    block = "blk." + theirs.substr(blocks.size(), dot + 1 - blocks.size());
    theirs = theirs.substr(dot + 1);
  }
  const size_t dot = theirs.rfind('.');
  for (const LayerName& layer : layers)
    if (theirs.substr(0, dot) == layer.theirs) return block + layer.name + theirs.substr(dot);
  SKEIN_CHECK(false);
}

void check_known(const ModelConfig& c) {
  const ForeignFamily& family = family_of(c);
  require(&family == &gpt2_family() || &family == &llama_family(),
          "a GGUF file is made of decoders that are known as gpt2 or llama elsewhere, and this "
          "model is known as {}",
          family.name);
  require(c.head == Head::vocabulary,
          "a GGUF file is made of a model with logits over its vocabulary, and this one has a head "
          "of {} numbers (model.head)",
          c.labels);
  require(!is_gpt2(c) || c.activation == MlpKind::gelu_tanh,
          "llama.cpp computes every gpt2 with model.activation=gelu_tanh; this model has {}",
          model_values(c).at("model.activation"));
  require(!(c.bias || c.attention_bias) || c.n_heads * c.head_width() == c.d_model,
          "llama.cpp's biases of attention are as wide as the model, {}; here {} heads of {} have "
          "some (model.attention_bias, model.d_head)",
          c.d_model, c.n_heads, c.head_width());
  require(c.rope_scaling != RopeScaling::yarn,
          "a GGUF file is made of models whose positions are linear or llama3 here, not "
          "model.rope_scaling=yarn");
  require(c.head_width() % 2 == 0, "llama.cpp needs an even width of heads, not {}",
          c.head_width());
}

uint32_t count(int64_t number) { return narrow<uint32_t>(number); }

void add_rotary(const ModelConfig& c, formats::GgufValues& values) {
  values.emplace_back("llama.rope.dimension_count", count(c.head_width()));
  values.emplace_back("llama.rope.freq_base", static_cast<float>(c.rope_theta));
  if (c.rope_scaling != RopeScaling::linear) return;
  values.emplace_back("llama.rope.scaling.type", std::string("linear"));
  values.emplace_back("llama.rope.scaling.factor", static_cast<float>(c.rope_factor));
}

}  // namespace

NameMap gguf_names(const ModelConfig& c) {
  check_known(c);
  const bool gpt2 = is_gpt2(c);
  NameCollector names(c, "");
  for (ForeignTensor tensor : family_of(c).names(c).tensors) {
    tensor.name = gpt2 ? gguf_name(tensor.name, "transformer.h.", kGpt2Layers)
                       : gguf_name(tensor.name, "model.layers.", kLlamaLayers);
    tensor.other_names.clear();
    // A product's weight is [outputs, inputs], as ours.
    if (tensor.transposed) std::swap(tensor.shape[0], tensor.shape[1]);
    tensor.transposed = false;
    // Rotary positions turn neighbours there.
    if (tensor.name.find(".attn_q.") != std::string::npos) tensor.woven_heads = c.n_heads;
    if (tensor.name.find(".attn_k.") != std::string::npos) tensor.woven_heads = c.kv_heads();
    names.map.tensors.push_back(tensor);
  }
  if (c.positions == Positions::rotary && c.rope_scaling == RopeScaling::llama3)
    names.map.tensors.push_back({kGgufFrequencies, {}, {c.head_width() / 2}, false, {}});
  return names.map;
}

std::vector<float> gguf_frequencies(const ModelConfig& c) {
  const kernels::RotaryWaves waves = rotary_waves(c);
  const int64_t width = c.head_width();
  std::vector<float> factors;
  for (int64_t i = 0; i < width / 2; ++i) {
    const double stretched = kernels::rotary_frequency(waves, i, width);
    factors.push_back(
        static_cast<float>(kernels::rotary_frequency({waves.theta}, i, width) / stretched));
  }
  return factors;
}

formats::GgufValues gguf_model(const ModelConfig& c) {
  const bool gpt2 = is_gpt2(c);
  const std::string name = gpt2 ? "gpt2" : "llama";
  formats::GgufValues values{{"general.architecture", name},
                             {"general.type", std::string("model")},
                             {name + ".vocab_size", count(c.vocab_size)},
                             {name + ".context_length", count(c.context)},
                             {name + ".embedding_length", count(c.d_model)},
                             {name + ".block_count", count(c.n_layers)},
                             {name + ".feed_forward_length", count(c.hidden())},
                             {name + ".attention.head_count", count(c.n_heads)},
                             {name + ".attention.head_count_kv", count(c.kv_heads())}};
  const std::string epsilon = gpt2 ? "layer_norm_epsilon" : "layer_norm_rms_epsilon";
  values.emplace_back(name + ".attention." + epsilon, static_cast<float>(c.norm_epsilon));
  if (gpt2) return values;
  values.emplace_back("llama.attention.key_length", count(c.head_width()));
  values.emplace_back("llama.attention.value_length", count(c.head_width()));
  add_rotary(c, values);
  return values;
}

}  // namespace skein::convert
