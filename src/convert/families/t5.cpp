#include "skein/models/transformer/transformer.h"

#include "families.h"

namespace skein::convert {
namespace {

std::vector<Demand> t5_demands(const ModelConfig& c) {
  const TransformerOptions& own = transformer_options(c);
  std::vector<Demand> all = mapper_demands(c);
  all.insert(all.end(),
             {{c.positions == Positions::distance, "model.positions=distance"},
              {c.norm == ops::Norm::rms && c.norm_placement == NormPlacement::pre,
               "RMS norm before each sublayer"},
              {!c.bias && !c.attention_bias, "model.bias=false and model.attention_bias=false"},
              {c.kv_heads() == c.n_heads, "as many key heads as query heads"},
              {!own.scale_scores, "model.scale_scores=false"},
              {!c.scale_embeddings && !c.embedding_norm,
               "model.scale_embeddings=false and model.embedding_norm=false"},
              {own.head_bias == HeadBias::none, "model.head_bias=none"},
              {own.share_source, "model.share_source=true"}});
  return all;
}

struct T5Half {
  std::string theirs;  // "decoder"
  std::string ours;    // of its table of distances
  std::string norm;
  int64_t begin, end;  // its blocks
};

void add_t5_attention(NameCollector& names, const std::string& theirs, const std::string& ours) {
  const int64_t width = names.c.d_model, inner = names.c.n_heads * names.c.head_width();
  for (const char* part : {"q", "k", "v"})
    names.linear(fmt::format("{}.{}", theirs, part), fmt::format("{}.{}", ours, part), inner, width,
                 false);
  names.linear(theirs + ".o", ours + ".out", width, inner, false);
}

void add_feed_forward(NameCollector& names, const std::string& theirs, const std::string& ours) {
  const int64_t width = names.c.d_model, hidden = names.c.hidden();
  const bool gated = is_gated(names.c.activation);
  if (gated) names.linear(theirs + ".wi_0", ours + ".gate", hidden, width, false);
  names.linear(theirs + (gated ? ".wi_1" : ".wi"), ours + ".up", hidden, width, false);
  names.linear(theirs + ".wo", ours + ".down", width, hidden, false);
}

void add_t5_block(NameCollector& names, const T5Half& half, int64_t i) {
  const std::string base = fmt::format("{}.block.{}.layer.", half.theirs, i - half.begin),
                    ours = names.block(i);
  int sublayer = 0;
  const auto next = [&] {
    const std::string theirs = fmt::format("{}{}", base, sublayer++);
    names.same(theirs + ".layer_norm.weight", fmt::format("{}.norm_{}.gain", ours, sublayer),
               {names.c.d_model});
    return theirs;
  };
  add_t5_attention(names, next() + ".SelfAttention", ours + ".attention");
  if (half.theirs == "decoder")
    add_t5_attention(names, next() + ".EncDecAttention", ours + ".cross");
  add_feed_forward(names, next() + ".DenseReluDense", ours + ".mlp");
}

void add_t5_half(NameCollector& names, const T5Half& half) {
  const int64_t buckets = transformer_options(names.c).distance_buckets, heads = names.c.n_heads;
  for (int64_t i = half.begin; i < half.end; ++i) add_t5_block(names, half, i);
  names.map.tensors.push_back(
      {half.theirs + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight",
       {},
       {buckets, heads},
       true,
       {{half.ours, {heads, buckets}}}});
  names.same(half.theirs + ".final_layer_norm.weight", half.norm + ".gain", {names.c.d_model});
}

NameMap t5_names(const ModelConfig& c) {
  NameCollector names(c, "");
  const std::string shared = "shared.weight";
  names.same(shared, "embedding.tokens.weight", {c.vocab_size, c.d_model}).other_names = {
      "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};
  const int64_t encoder = encoder_layers(c);
  add_t5_half(names, {"encoder", "encoder_distances.weight", "encoder_norm", 0, encoder});
  add_t5_half(names, {"decoder", "decoder_distances.weight", "final_norm", encoder, c.n_layers});
  names.map.second_uses = {{"encoder.embed_tokens.weight", shared, false},
                           {"decoder.embed_tokens.weight", shared, false}};
  if (c.tie_embeddings)
    names.map.second_uses.push_back({"lm_head.weight", shared});
  else
    names.same("lm_head.weight", "head.weight", {c.vocab_size, c.d_model});
  // Files of the first T5 hold it, and nobody reads it.
  names.map.buffers = {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"};
  return names.map;
}

// What transformers takes for keys that are not there.
struct Defaults {
  int64_t layers, heads, hidden;
  const char* feed_forward;
};
constexpr Defaults kOfT5{6, 8, 2048, "relu"}, kOfMt5{8, 6, 1024, "gated-gelu"};

// "gated-silu". gated-gelu means the tanh formula, and gelu alone the other.
std::string feed_forward(MlpKind kind) {
  if (kind == MlpKind::geglu_tanh) return "gated-gelu";
  if (kind == MlpKind::geglu_erf) return "gated-gelu_python";
  return (is_gated(kind) ? "gated-" : "") + name_of_activation(gate_of(kind));
}

std::optional<MlpKind> feed_forward_named(const std::string& name) {
  const std::string prefix = "gated-";
  if (!name.starts_with(prefix)) return activation_named(name);
  if (name == "gated-gelu") return MlpKind::geglu_tanh;
  const auto gate = activation_named(name.substr(prefix.size()));
  return gate ? std::optional(gated_by(*gate)) : std::nullopt;
}

// What save_pretrained writes beside feed_forward_proj, and transformers believes more.
void check_derived(const ForeignConfig& keys, MlpKind kind) {
  const bool gated = is_gated(kind);
  if (keys.truth("is_gated_act", gated) != gated)
    keys.refuse("is_gated_act", "and \"feed_forward_proj\" says otherwise; take out the wrong one");
  if (!keys.has("dense_act_fn")) return;
  const std::string name = keys.text("dense_act_fn", "");
  const auto said = activation_named(name);
  const bool same = said && activation_of(kind) == activation_of(*said);
  if (!same)
    keys.refuse("dense_act_fn", fmt::format("and \"feed_forward_proj\" says \"{}\"; take out the "
                                            "wrong one",
                                            feed_forward(kind)));
}

void activation_keys(ForeignConfig& keys, ModelConfig& c, const std::string& otherwise) {
  const std::string key = "feed_forward_proj";
  if (keys.reads()) {
    const std::string name = keys.text(key, otherwise);
    const auto kind = feed_forward_named(name);
    if (!kind)
      fail_usage("{}: \"{}\" is \"{}\"; known are {}, each also after \"gated-\"", keys.origin(),
                 key, name, known_activations());
    c.activation = *kind;
    check_derived(keys, c.activation);
  }
  keys.write(key, feed_forward(c.activation));
}

void size_keys(ForeignConfig& keys, ModelConfig& c, const Defaults& otherwise) {
  TransformerOptions& own = transformer_options(c);
  int64_t encoder = encoder_layers(c), decoder = c.n_layers - encoder;
  keys.size("d_model", c.d_model, 512, "hidden_size");
  keys.size("d_kv", c.d_head, 64, "head_dim");
  keys.size("num_heads", c.n_heads, otherwise.heads, "num_attention_heads");
  keys.size("d_ff", c.d_ff, otherwise.hidden);
  keys.size("num_layers", encoder, otherwise.layers, "num_hidden_layers");
  keys.size("num_decoder_layers", decoder, encoder);
  take_layers(keys, c, encoder, decoder);
  keys.size("relative_attention_num_buckets", own.distance_buckets, 32);
  keys.size("relative_attention_max_distance", own.distance_max, 128);
  // Nothing depends on it but what is taken for the longest text.
  int64_t longest = std::max(c.context, c.architecture->source_context(c));
  keys.size("n_positions", longest, 512);
  if (keys.reads()) c.context = longest;
}

void keys_but_scale(ForeignConfig& keys, ModelConfig& c, const Defaults& otherwise) {
  TransformerOptions& own = transformer_options(c);
  c.positions = Positions::distance;
  c.norm = ops::Norm::rms;
  c.norm_placement = NormPlacement::pre;
  c.bias = own.scale_scores = false;
  own.start = StartValues::fan_in;
  own.drop_outputs = true;
  mapper_keys(keys);
  size_keys(keys, c, otherwise);
  activation_keys(keys, c, otherwise.feed_forward);
  keys.real("layer_norm_epsilon", c.norm_epsilon, 1e-6);
  keys.real("dropout_rate", c.dropout, 0.1);
  if (!keys.reads()) return;
  c.activation_dropout = c.dropout;
  // transformers believes the numbers more than what config.json says.
  c.tie_embeddings =
      !keys.has_tensor("lm_head.weight") || keys.same_tensors("lm_head.weight", "shared.weight");
}

// Older files say by their ties whether features are scaled.
void t5_keys(ForeignConfig& keys, ModelConfig& c) {
  keys_but_scale(keys, c, kOfT5);
  bool& scaled = transformer_options(c).scale_output;
  if (keys.reads())
    scaled = keys.truth("scale_decoder_outputs", keys.truth("tie_word_embeddings", true));
  keys.write("scale_decoder_outputs", scaled);
}

// Its features never are. It is read only: what has its options is written as T5.
void mt5_keys(ForeignConfig& keys, ModelConfig& c) { keys_but_scale(keys, c, kOfMt5); }

ForeignFamily t5_like_family(const char* name, const char* stem,
                             void (*keys)(ForeignConfig&, ModelConfig&)) {
  return {name,
          stem,
          {"ForConditionalGeneration", "WithLMHeadModel"},
          transformer_architecture(),
          t5_demands,
          t5_names,
          keys,
          {"hidden_size", "head_dim", "num_attention_heads", "num_hidden_layers", "dense_act_fn",
           "is_gated_act"},
          true,
          ""};
}

}  // namespace

const ForeignFamily& t5_family() {
  static const ForeignFamily only = t5_like_family("t5", "T5", t5_keys);
  return only;
}

const ForeignFamily& mt5_family() {
  static const ForeignFamily only = t5_like_family("mt5", "MT5", mt5_keys);
  return only;
}

}  // namespace skein::convert
