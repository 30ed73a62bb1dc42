// Gemma 3, models of texts alone.
#include "skein/models/gpt/gpt.h"

#include "families.h"

namespace skein::convert {
namespace {

constexpr double kUsualTheta = 1e6, kUsualWindowTheta = 1e4;
constexpr char kOfFull[] = "full_attention", kOfWindows[] = "sliding_attention",
               kParameters[] = "rope_parameters", kWindowTheta[] = "rope_local_base_freq";

std::vector<Demand> gemma3_demands(const ModelConfig& c) {
  return scaled_decoder_demands(
      c, {{c.positions == Positions::rotary, "model.positions=rotary"},
          whole_turns(c),
          {c.norm == ops::Norm::rms_zero_centered && c.norm_placement == NormPlacement::sandwich,
           "model.norm=rms_zero_centered and model.norm_placement=sandwich"},
          {is_gated(c.activation), "a gated model.activation"},
          {c.scale_embeddings, "model.scale_embeddings=true"},
          {c.qk_norm, "model.qk_norm=true"},
          {!c.parallel_blocks, "model.parallel_blocks=false"},
          windows_only(c),
          {c.rope_window_theta > 0 || c.rope_scaling == RopeScaling::none,
           "model.rope_window_theta above 0"},
          {!c.bias && c.attention_out_bias, "model.bias=false and model.attention_out_bias=true"}});
}

void refuse_others(const ForeignConfig& keys) {
  for (const char* one : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (keys.has(one)) keys.refuse(one, "and scores and logits have no cap here");
  keys.refuse_true("use_bidirectional_attention", "and decoders here see only what was before");
}

// Of one kind of layers in rope_parameters; empty where nothing is said.
ForeignConfig rope_of(const ForeignConfig& keys, const char* kind) {
  const ForeignConfig all = keys.object(kParameters);
  return all.has(kind) ? all.object(kind) : ForeignConfig(std::string("{}"), keys.origin());
}

void check_kinds(const ForeignConfig& keys) {
  for (const auto& [kind, value] : keys.at(kParameters).items())
    if (kind != kOfFull && kind != kOfWindows)
      keys.refuse(kParameters, fmt::format("and has \"{}\" beside {} and {}; all belongs in these",
                                           kind, kOfFull, kOfWindows));
  if (keys.has("rope_scaling"))
    keys.refuse("rope_scaling", "and \"rope_parameters\" says the same; take out the wrong one");
}

void read_rotary(const ForeignConfig& keys, ModelConfig& c) {
  RotaryKeys names;
  names.types = {"linear", "llama3", "yarn", "dynamic"};
  c.rope_theta = keys.real("rope_theta", kUsualTheta);
  c.rope_window_theta = keys.real(kWindowTheta, kUsualWindowTheta);
  if (!keys.has(kParameters)) {
    if (keys.has("rope_scaling")) read_stretching(keys, keys.object("rope_scaling"), names, c);
    return;
  }
  check_kinds(keys);
  read_stretching(keys, rope_of(keys, kOfFull), names, c);
  ModelConfig windows = c;
  windows.rope_theta = c.rope_window_theta;
  windows.rope_scaling = RopeScaling::none;
  names.types = {"dynamic"};
  read_stretching(keys, rope_of(keys, kOfWindows), names, windows);
  c.rope_window_theta = windows.rope_theta;
}

void rotary_of_layers(ForeignConfig& keys, ModelConfig& c) {
  c.positions = Positions::rotary;
  if (keys.reads()) read_rotary(keys, c);
  if (c.attention.is_full()) c.rope_window_theta = 0;
  keys.write("rope_theta", c.rope_theta);
  keys.write(kWindowTheta, c.rope_window_theta > 0 ? c.rope_window_theta : c.rope_theta);
  keys.write("rope_scaling", stretching_json(c));
}

// Every sixth layer sees all, unless something else is said.
void read_windows(const ForeignConfig& keys, ModelConfig& c) {
  check_sizes(c, keys.origin());  // before a kind is made for each layer
  const int64_t pattern = keys.integer("sliding_window_pattern", 6);
  if (pattern < 1) keys.refuse("sliding_window_pattern", "and must be at least 1");
  std::vector<std::string> usual;
  for (int64_t i = 0; i < c.n_layers; ++i)
    usual.emplace_back((i + 1) % pattern == 0 ? "full" : "window");
  const auto kinds = layer_kinds(keys, c, usual);
  if (!has_windows(kinds)) return;
  if (keys.mentions("sliding_window") && !keys.has("sliding_window"))
    keys.refuse("sliding_window", "and some layers have a window");
  c.attention = windowed(keys.integer("sliding_window", 4096));
  c.attention.kinds = kinds;
}

void window_keys(ForeignConfig& keys, ModelConfig& c) {
  if (keys.reads()) return read_windows(keys, c);
  keys.write("layer_types", layer_types(c));
  if (!c.attention.is_full()) keys.write("sliding_window", c.attention.windows.front());
}

void sizes(ForeignConfig& keys, ModelConfig& c) {
  keys.size("hidden_size", c.d_model, 2304);
  keys.size("num_hidden_layers", c.n_layers, 26);
  keys.size("num_attention_heads", c.n_heads, 8);
  keys.size("num_key_value_heads", c.n_kv_heads, 4);
  keys.size("head_dim", c.d_head, 256);
  keys.size("intermediate_size", c.d_ff, 9216);
  keys.size("max_position_embeddings", c.context, 131072);
  keys.real("rms_norm_eps", c.norm_epsilon, 1e-6);
  int64_t width = c.score_width > 0 ? c.score_width : c.d_head;
  keys.size("query_pre_attn_scalar", width, 256);
  c.score_width = width == c.d_head ? 0 : width;
}

void gemma3_keys(ForeignConfig& keys, ModelConfig& c) {
  c.norm = ops::Norm::rms_zero_centered;
  c.norm_placement = NormPlacement::sandwich;
  c.qk_norm = c.scale_embeddings = true;
  c.bias = false;
  sizes(keys, c);
  if (keys.reads()) refuse_others(keys);
  MlpKind gate = gate_of(c.activation);
  keys.activation("hidden_activation", gate, "gelu_pytorch_tanh");
  c.activation = gated_by(gate);
  keys.real("attention_dropout", c.dropout, 0);
  keys.truth("attention_bias", c.attention_bias, false);
  window_keys(keys, c);
  rotary_of_layers(keys, c);
}

}  // namespace

const ForeignFamily& gemma3_family() {
  static const ForeignFamily only{.name = "gemma3_text",
                                  .stem = "Gemma3",
                                  .vocabulary_classes = {"ForCausalLM"},
                                  .architecture = gpt_architecture(),
                                  .demands = gemma3_demands,
                                  .names = llama_names,
                                  .keys = gemma3_keys,
                                  .sequence_class = "TextForSequenceClassification",
                                  .bare_class = "TextModel"};
  return only;
}

}  // namespace skein::convert
