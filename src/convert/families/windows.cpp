// Decoders like Llama of which some layers see a window: Mistral, Qwen2 and Qwen3.
#include <algorithm>

#include "skein/models/gpt/gpt.h"

#include "families.h"

namespace skein::convert {
namespace {

constexpr char kFull[] = "full", kWindow[] = "window";
constexpr char kFullLayer[] = "full_attention", kWindowLayer[] = "sliding_attention";

bool has_one_window(const ModelConfig& c) {
  const auto& windows = c.attention.windows;
  return std::ranges::all_of(windows, [&](int64_t one) { return one == windows.front(); });
}

bool is_window(const ModelConfig& c, int64_t block) {
  return c.attention.of_block(block, c.context).kind == SightKind::window;
}

// The first ones that the others repeat.
std::vector<std::string> without_repeats(const std::vector<std::string>& kinds) {
  size_t period = 1;
  const auto repeats = [&] {
    for (size_t i = period; i < kinds.size(); ++i)
      if (kinds[i] != kinds[i - period]) return false;
    return true;
  };
  while (!repeats()) ++period;
  return {kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(period)};
}

// Mistral: all layers, unless it is null.
void read_window_of_all(const ForeignConfig& keys, ModelConfig& c) {
  const bool none = keys.mentions("sliding_window") && !keys.has("sliding_window");
  if (!none) c.attention = windowed(keys.integer("sliding_window", 4096));
  if (!keys.has("layer_types")) return;
  const std::string all = none ? kFullLayer : kWindowLayer;
  const ForeignJson& types = keys.at("layer_types");
  if (!types.is_array() || !std::ranges::all_of(types, [&](const auto& t) { return t == all; }))
    keys.refuse("layer_types",
                fmt::format("and all layers of such a model are of {} by \"sliding_window\"", all));
}

// Of a layer that config.json says by name.
std::string kind_named(const ForeignConfig& keys, const ForeignJson& type) {
  if (type == kFullLayer) return kFull;
  if (type != kWindowLayer)
    keys.refuse("layer_types",
                fmt::format("and layers of {} and {} are known here", kFullLayer, kWindowLayer));
  return kWindow;
}

}  // namespace

Demand windows_only(const ModelConfig& c) {
  const bool known = std::ranges::all_of(
      c.attention.kinds, [](const auto& kind) { return kind == kFull || kind == kWindow; });
  return {known && has_one_window(c), "attention.kind full and window, with one window"};
}

Demand one_window_or_none(const ModelConfig& c) {
  const bool all =
      std::ranges::all_of(c.attention.kinds, [](const auto& kind) { return kind == kWindow; });
  return {c.attention.is_full() || (all && has_one_window(c)),
          "attention.kind=full, or window with one window"};
}

std::vector<std::string> layer_kinds(const ForeignConfig& keys, const ModelConfig& c,
                                     std::vector<std::string> usual) {
  if (!keys.has("layer_types")) return without_repeats(usual);
  std::vector<std::string> kinds;
  const ForeignJson& types = keys.at("layer_types");
  if (!types.is_array() || std::ssize(types) != c.n_layers)
    keys.refuse("layer_types",
                fmt::format("and a list of {} names belongs there, one a layer", c.n_layers));
  for (const ForeignJson& type : types) kinds.push_back(kind_named(keys, type));
  return without_repeats(kinds);
}

ForeignJson layer_types(const ModelConfig& c) {
  ForeignJson types = ForeignJson::array();
  for (int64_t i = 0; i < c.n_layers; ++i)
    types.push_back(is_window(c, i) ? kWindowLayer : kFullLayer);
  return types;
}

bool has_windows(const std::vector<std::string>& kinds) {
  return std::ranges::find(kinds, kWindow) != kinds.end();
}

namespace {

// Qwen: those behind the first ones, or those that are named.
void read_windows_of_layers(const ForeignConfig& keys, ModelConfig& c) {
  check_sizes(c, keys.origin());  // before a kind is made for each layer
  const bool none = keys.mentions("sliding_window") && !keys.has("sliding_window"),
             used = keys.truth("use_sliding_window", false) && !none;
  const int64_t full = used ? keys.integer("max_window_layers", 28) : c.n_layers;
  std::vector<std::string> usual;
  for (int64_t i = 0; i < c.n_layers; ++i) usual.emplace_back(i < full ? kFull : kWindow);
  const auto kinds = layer_kinds(keys, c, usual);
  if (!has_windows(kinds)) return;
  if (!used)
    keys.refuse("layer_types",
                "and \"use_sliding_window\" and \"sliding_window\" give its layers no window");
  c.attention = windowed(keys.integer("sliding_window", 4096));
  c.attention.kinds = kinds;
}

void write_windows_of_layers(ForeignConfig& keys, const ModelConfig& c) {
  const ForeignJson types = layer_types(c);
  const bool used = std::ranges::find(types, kWindowLayer) != types.end();
  keys.write("layer_types", types);
  keys.write("use_sliding_window", used);
  if (used) keys.write("sliding_window", c.attention.windows.front());
}

void mistral_keys(ForeignConfig& keys, ModelConfig& c) {
  llama_keys(keys, c, {.key_heads = 8, .context = 131072});
  if (keys.reads()) return read_window_of_all(keys, c);
  keys.write("sliding_window", c.attention.windows.front());
}

void layers_keys(ForeignConfig& keys, ModelConfig& c) {
  if (keys.reads()) return read_windows_of_layers(keys, c);
  write_windows_of_layers(keys, c);
}

void qwen2_keys(ForeignConfig& keys, ModelConfig& c) {
  c.attention_bias = true;
  c.attention_out_bias = false;
  llama_keys(keys, c, {.key_heads = 32, .context = 32768});
  layers_keys(keys, c);
  if (keys.reads()) c.d_head = c.head_width();  // which files of this family mostly leave out
}

void qwen3_keys(ForeignConfig& keys, ModelConfig& c) {
  c.qk_norm = true;
  llama_keys(keys, c, {.key_heads = 32, .head_width = 128, .context = 32768});
  keys.truth("attention_bias", c.attention_bias, false);
  layers_keys(keys, c);
}

// A model whose layers all see everything is a Llama.
std::vector<Demand> mistral_demands(const ModelConfig& c) {
  std::vector<Demand> own = plain_blocks(c);
  const bool all =
      std::ranges::all_of(c.attention.kinds, [](auto& kind) { return kind == kWindow; });
  own.push_back({all && has_one_window(c), "attention.kind=window with one window"});
  own.push_back({!c.bias && !c.attention_bias, "model.bias=false and model.attention_bias=false"});
  return llama_demands(c, own);
}

std::vector<Demand> qwen2_demands(const ModelConfig& c) {
  return llama_demands(
      c, {windows_only(c),
          {!c.parallel_blocks, "model.parallel_blocks=false"},
          {!c.qk_norm, "model.qk_norm=false"},
          {!c.bias && c.attention_bias && !c.attention_out_bias,
           "model.bias=false, model.attention_bias=true and model.attention_out_bias=false"}});
}

std::vector<Demand> qwen3_demands(const ModelConfig& c) {
  return llama_demands(
      c, {windows_only(c),
          {!c.parallel_blocks, "model.parallel_blocks=false"},
          {c.qk_norm, "model.qk_norm=true"},
          {!c.bias && c.attention_out_bias, "model.bias=false and model.attention_out_bias=true"}});
}

}  // namespace

const ForeignFamily& mistral_family() {
  static const ForeignFamily only{"mistral",
                                  "Mistral",
                                  {"ForCausalLM"},
                                  gpt_architecture(),
                                  mistral_demands,
                                  llama_names,
                                  mistral_keys,
                                  {},
                                  false};
  return only;
}

const ForeignFamily& qwen2_family() {
  static const ForeignFamily only{"qwen2",       "Qwen2",     {"ForCausalLM"}, gpt_architecture(),
                                  qwen2_demands, llama_names, qwen2_keys,      {},
                                  false};
  return only;
}

const ForeignFamily& qwen3_family() {
  static const ForeignFamily only{"qwen3",       "Qwen3",     {"ForCausalLM"}, gpt_architecture(),
                                  qwen3_demands, llama_names, qwen3_keys,      {},
                                  false};
  return only;
}

}  // namespace skein::convert
