#include "convert/gguf.h"

#include <algorithm>
#include <cmath>

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
constexpr LayerName kNeoxLayers[] = {{"gpt_neox.embed_in", "token_embd"},
                                     {"gpt_neox.final_layer_norm", "output_norm"},
                                     {"embed_out", "output"},
                                     {"input_layernorm", "attn_norm"},
                                     {"attention.query_key_value", "attn_qkv"},
                                     {"attention.dense", "attn_output"},
                                     {"post_attention_layernorm", "ffn_norm"},
                                     {"mlp.dense_h_to_4h", "ffn_up"},
                                     {"mlp.dense_4h_to_h", "ffn_down"}};
constexpr LayerName kLlamaLayers[] = {{"model.embed_tokens", "token_embd"},
                                      {"model.norm", "output_norm"},
                                      {"lm_head", "output"},
                                      {"input_layernorm", "attn_norm"},
                                      {"self_attn.q_proj", "attn_q"},
                                      {"self_attn.k_proj", "attn_k"},
                                      {"self_attn.v_proj", "attn_v"},
                                      {"self_attn.q_norm", "attn_q_norm"},
                                      {"self_attn.k_norm", "attn_k_norm"},
                                      {"self_attn.qkv_proj", "attn_qkv"},
                                      {"self_attn.o_proj", "attn_output"},
                                      {"post_attention_layernorm", "ffn_norm"},
                                      {"mlp.gate_proj", "ffn_gate"},
                                      {"mlp.up_proj", "ffn_up"},
                                      {"mlp.gate_up_proj", "ffn_up"},
                                      {"mlp.down_proj", "ffn_down"}};
constexpr LayerName kGemmaLayers[] = {{"model.embed_tokens", "token_embd"},
                                      {"model.norm", "output_norm"},
                                      {"input_layernorm", "attn_norm"},
                                      {"self_attn.q_proj", "attn_q"},
                                      {"self_attn.k_proj", "attn_k"},
                                      {"self_attn.v_proj", "attn_v"},
                                      {"self_attn.q_norm", "attn_q_norm"},
                                      {"self_attn.k_norm", "attn_k_norm"},
                                      {"self_attn.o_proj", "attn_output"},
                                      {"post_attention_layernorm", "post_attention_norm"},
                                      {"pre_feedforward_layernorm", "ffn_norm"},
                                      {"mlp.gate_proj", "ffn_gate"},
                                      {"mlp.up_proj", "ffn_up"},
                                      {"mlp.down_proj", "ffn_down"},
                                      {"post_feedforward_layernorm", "post_ffw_norm"}};

constexpr char kShortFactors[] = "rope_factors_short.weight",
               kLongFactors[] = "rope_factors_long.weight";

// An architecture of llama.cpp.
struct GgufFamily {
  const char* type;    // Hugging Face's
  const char* name;    // llama.cpp's
  const char* blocks;  // that names of their blocks' tensors begin with
  std::span<const LayerName> layers;
};
constexpr GgufFamily kFamilies[] = {{"gpt2", "gpt2", "transformer.h.", kGpt2Layers},
                                    {"gpt_neox", "gptneox", "gpt_neox.layers.", kNeoxLayers},
                                    {"llama", "llama", "model.layers.", kLlamaLayers},
                                    {"mistral", "llama", "model.layers.", kLlamaLayers},
                                    {"qwen2", "qwen2", "model.layers.", kLlamaLayers},
                                    {"qwen3", "qwen3", "model.layers.", kLlamaLayers},
                                    {"phi3", "phi3", "model.layers.", kLlamaLayers},
                                    {"gemma3_text", "gemma3", "model.layers.", kGemmaLayers}};

const GgufFamily& gguf_family(const ModelConfig& c, const std::string& type) {
  const std::string& name = family_of(c, type).name;
  for (const GgufFamily& family : kFamilies)
    if (name == family.type) return family;
  fail_usage(
      "a GGUF file is made of decoders that are known as gpt2, gpt_neox, llama, mistral, qwen2, "
      "qwen3, phi3 or gemma3_text elsewhere, and this model is known as {}",
      name);
}

bool is(const GgufFamily& family, std::string_view name) { return family.name == name; }

// "blk.3.attn_q.weight" of "model.layers.3.self_attn.q_proj.weight".
std::string gguf_name(std::string theirs, const GgufFamily& family) {
  std::string block;
  const std::string blocks = family.blocks;
  if (theirs.starts_with(blocks)) {
    const size_t dot = theirs.find('.', blocks.size());
    block = "blk." + theirs.substr(blocks.size(), dot + 1 - blocks.size());
    theirs = theirs.substr(dot + 1);
  }
  const size_t dot = theirs.rfind('.');
  const auto layer = std::ranges::find(family.layers, theirs.substr(0, dot), &LayerName::theirs);
  SKEIN_CHECK(layer != family.layers.end());
  return block + layer->name + theirs.substr(dot);
}

void check_attention(const ModelConfig& c, const GgufFamily& family) {
  const bool biased = c.bias || c.attention_bias, as_wide = c.n_heads * c.head_width() == c.d_model;
  require(!(is(family, "llama") && biased) || as_wide,
          "llama.cpp's biases of attention are as wide as the model, {}; here {} heads of {} have "
          "some (model.attention_bias, model.d_head)",
          c.d_model, c.n_heads, c.head_width());
  require(!is(family, "qwen2") || as_wide,
          "llama.cpp's heads of a qwen2 are together as wide as the model, {}; here are {} heads "
          "of {} (model.d_head)",
          c.d_model, c.n_heads, c.head_width());
  require(!(is(family, "qwen3") || is(family, "gemma3")) || !biased,
          "llama.cpp knows no biases of attention of a {} (model.attention_bias)", family.name);
  require(c.head_width() % 2 == 0, "llama.cpp needs an even width of heads, not {}",
          c.head_width());
}

void check_stretching(const ModelConfig& c, const GgufFamily& family) {
  const bool llama = is(family, "llama"), gemma = is(family, "gemma3");
  const auto refuse_if = [&](bool refused, const char* scaling) {
    require(!refused, "llama.cpp knows no {} with model.rope_scaling={}", family.name, scaling);
  };
  refuse_if(c.rope_scaling == RopeScaling::llama3 && !llama, "llama3");
  refuse_if(c.rope_scaling == RopeScaling::longrope && !llama && !is(family, "phi3"), "longrope");
  refuse_if(c.rope_scaling == RopeScaling::yarn && gemma, "yarn");
  require(c.rope_scaling != RopeScaling::yarn ||
              (c.rope_low_frequency == 1 && c.rope_high_frequency == 32),
          "llama.cpp's yarn is of model.rope_low_frequency=1 and model.rope_high_frequency=32, not "
          "{} and {}",
          c.rope_low_frequency, c.rope_high_frequency);
}

// Which layers of a gemma3 have windows, their positions and the division of scores are llama.cpp's
// own.
void check_gemma(const ModelConfig& c) {
  constexpr int64_t kPattern = 6, kLayersOfLargest = 62;
  for (int64_t i = 0; i < c.n_layers; ++i)
    require(
        (c.attention.of_block(i, c.context).kind == SightKind::window) == ((i + 1) % kPattern != 0),
        "llama.cpp gives all but every sixth layer of a gemma3 a window, and here layer {} is "
        "otherwise (attention.kind)",
        i + 1);
  require(c.rope_window_theta == 10000,
          "llama.cpp's layers with windows of a gemma3 have model.rope_window_theta=10000, not {}",
          c.rope_window_theta);
  require(c.activation == MlpKind::geglu_tanh,
          "llama.cpp computes every gemma3 with model.activation=geglu_tanh; this model has {}",
          model_values(c).at("model.activation"));
  const bool largest = c.n_layers == kLayersOfLargest;
  const int64_t width = c.score_width ? c.score_width : c.head_width(),
                theirs = largest ? c.d_model / c.n_heads : c.head_width();
  require(width == theirs,
          "llama.cpp divides scores of a gemma3 of {} layers by the root of {}, and here of {} "
          "(model.score_width)",
          c.n_layers, theirs, width);
  require(c.tie_embeddings,
          "llama.cpp knows no gemma3 with output weights of its own (model.tie_embeddings)");
}

const GgufFamily& known_family(const ModelConfig& c, const std::string& type) {
  const GgufFamily& family = gguf_family(c, type);
  require(c.head == Head::vocabulary,
          "a GGUF file is made of a model with logits over its vocabulary, and this one has a head "
          "of {} numbers (model.head)",
          c.labels);
  require(!(is(family, "gpt2") || is(family, "gptneox")) || c.activation == MlpKind::gelu_tanh,
          "llama.cpp computes every {} with model.activation=gelu_tanh; this model has {}",
          family.name, model_values(c).at("model.activation"));
  check_attention(c, family);
  check_stretching(c, family);
  if (is(family, "gemma3")) check_gemma(c);
  return family;
}

uint32_t count(int64_t number) { return narrow<uint32_t>(number); }

bool has_frequencies(const ModelConfig& c) {
  return c.rope_scaling == RopeScaling::llama3 || c.rope_scaling == RopeScaling::longrope;
}

void add_frequencies(const ModelConfig& c, const GgufFamily& family, NameMap& map) {
  if (c.positions != Positions::rotary || !has_frequencies(c)) return;
  const int64_t pairs = (c.rope_width ? c.rope_width : c.head_width()) / 2;
  if (!is(family, "phi3"))
    return void(map.tensors.push_back({kGgufFrequencies, {}, {pairs}, false, {}}));
  for (const char* name : {kLongFactors, kShortFactors})
    map.tensors.push_back({name, {}, {pairs}, false, {}});
}

// What yarn itself makes of the factor is llama.cpp's own part of the amplitude.
void add_amplitude(const ModelConfig& c, const std::string& name, formats::GgufValues& values) {
  const double own =
      c.rope_scaling == RopeScaling::yarn ? 0.1 * std::log(std::max(1.0, c.rope_factor)) + 1 : 1;
  const double factor = rotary_waves(c).amplitude / own;
  if (factor != 1)
    values.emplace_back(name + ".rope.scaling.attn_factor", static_cast<float>(factor));
}

void add_rotary(const ModelConfig& c, const std::string& name, formats::GgufValues& values) {
  values.emplace_back(name + ".rope.dimension_count",
                      count(c.rope_width ? c.rope_width : c.head_width()));
  values.emplace_back(name + ".rope.freq_base", static_cast<float>(c.rope_theta));
  const bool linear = c.rope_scaling == RopeScaling::linear,
             yarn = c.rope_scaling == RopeScaling::yarn;
  if (linear || yarn) {
    values.emplace_back(name + ".rope.scaling.type", std::string(linear ? "linear" : "yarn"));
    values.emplace_back(name + ".rope.scaling.factor", static_cast<float>(c.rope_factor));
  }
  if (yarn || name == "phi3")
    values.emplace_back(
        name + ".rope.scaling.original_context_length",
        count(yarn || c.rope_scaling == RopeScaling::longrope ? c.rope_context : c.context));
  if (yarn || c.rope_scaling == RopeScaling::longrope) add_amplitude(c, name, values);
}

// What llama.cpp's architectures have of their own.
void add_own(const ModelConfig& c, const GgufFamily& family, formats::GgufValues& values) {
  const std::string name = family.name;
  if (is(family, "gptneox"))
    values.emplace_back(name + ".use_parallel_residual", c.parallel_blocks);
  if (is(family, "gemma3"))
    values.emplace_back(name + ".attention.sliding_window", count(c.attention.windows.front()));
  if (is(family, "phi3"))  // else llama.cpp would take one of its own choice
    values.emplace_back(name + ".attention.sliding_window", uint32_t{0});
}

}  // namespace

int64_t gguf_context(const ModelConfig& c) {
  if (c.norm_placement == NormPlacement::sandwich) return c.context;
  int64_t least = c.context;
  for (int64_t i = 0; i < c.n_layers; ++i)
    if (const SightSpec sight = c.attention.of_block(i, c.context); sight.kind == SightKind::window)
      least = std::min(least, sight.window);
  return least;
}

NameMap gguf_names(const ModelConfig& c, const std::string& type) {
  const GgufFamily& family = known_family(c, type);
  NameCollector names(c, "");
  for (ForeignTensor tensor : family_of(c, type).names(c).tensors) {
    tensor.name = gguf_name(tensor.name, family);
    tensor.other_names.clear();
    // A product's weight is [outputs, inputs], as ours.
    if (tensor.transposed) std::swap(tensor.shape[0], tensor.shape[1]);
    tensor.transposed = false;
    tensor.dealt_heads = 0;
    // Rotary positions turn neighbours there.
    const bool turns = is(family, "llama");
    if (turns && tensor.name.find(".attn_q.") != std::string::npos) tensor.woven_heads = c.n_heads;
    if (turns && tensor.name.find(".attn_k.") != std::string::npos)
      tensor.woven_heads = c.kv_heads();
    if (tensor.shape.size() == 1) tensor.added = static_cast<float>(kernels::gain_center(c.norm));
    names.map.tensors.push_back(tensor);
  }
  if (is(family, "gptneox") && c.tie_embeddings)
    names.same("output.weight", "embedding.tokens.weight", {c.vocab_size, c.d_model});
  add_frequencies(c, family, names.map);
  return names.map;
}

bool is_gguf_frequencies(const std::string& name) {
  return name == kGgufFrequencies || name == kShortFactors || name == kLongFactors;
}

std::vector<float> gguf_frequencies(const ModelConfig& c) {
  const kernels::RotaryWaves waves = rotary_waves(c);
  const int64_t width = waves.turned(c.head_width());
  std::vector<float> factors;
  for (int64_t i = 0; i < width / 2; ++i) {
    const double stretched = kernels::rotary_frequency(waves, i, width);
    factors.push_back(
        static_cast<float>(kernels::rotary_frequency({waves.theta}, i, width) / stretched));
  }
  return factors;
}

formats::GgufValues gguf_model(const ModelConfig& c, const std::string& type) {
  const GgufFamily& family = known_family(c, type);
  const std::string name = family.name;
  formats::GgufValues values{{"general.architecture", name},
                             {"general.type", std::string("model")},
                             {name + ".vocab_size", count(c.vocab_size)},
                             {name + ".context_length", count(gguf_context(c))},
                             {name + ".embedding_length", count(c.d_model)},
                             {name + ".block_count", count(c.n_layers)},
                             {name + ".feed_forward_length", count(c.hidden())},
                             {name + ".attention.head_count", count(c.n_heads)},
                             {name + ".attention.head_count_kv", count(c.kv_heads())}};
  const std::string epsilon =
      c.norm == ops::Norm::layer ? "layer_norm_epsilon" : "layer_norm_rms_epsilon";
  values.emplace_back(name + ".attention." + epsilon, static_cast<float>(c.norm_epsilon));
  if (c.positions != Positions::rotary) return values;
  values.emplace_back(name + ".attention.key_length", count(c.head_width()));
  values.emplace_back(name + ".attention.value_length", count(c.head_width()));
  add_rotary(c, name, values);
  add_own(c, family, values);
  return values;
}

}  // namespace skein::convert
