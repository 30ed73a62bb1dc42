#include "skein/models/bert/bert.h"
#include "skein/models/transformer/transformer.h"

#include "families.h"

namespace skein::convert {
namespace {

std::string option_value(MlpKind kind) {
  ModelConfig shown;
  shown.activation = kind;
  return model_values(shown).at("model.activation");
}

Demand head_activation_demand(const ModelConfig& c, MlpKind wanted) {
  const MlpKind has = head_activation(c);
  const bool has_none = !is_bert(c) || c.head != Head::vocabulary;
  if (has_none || has == wanted) return {true, ""};
  const char* why = bert_options(c).head_activation ? "" : ", as model.activation says";
  return {false, fmt::format("model.head_activation={} (the model has {} there{})",
                             option_value(wanted), option_value(has), why)};
}

void add_embeddings(NameCollector& names) {
  const ModelConfig& c = names.c;
  const std::string base = names.map.prefix + "embeddings.";
  names.same(base + "word_embeddings.weight", "embedding.tokens.weight", {c.vocab_size, c.d_model});
  names.same(base + "position_embeddings.weight", "embedding.positions.weight",
             {c.context + c.position_offset, c.d_model});
  names.same(base + "token_type_embeddings.weight", "embedding.types.weight",
             {c.token_types, c.d_model});
  names.layer_norm(base + "LayerNorm", "embedding.norm");
  names.map.buffers = {base + "position_ids", base + "token_type_ids"};
}

void encoder_sizes(ForeignConfig& keys, ModelConfig& c) {
  keys.size("hidden_size", c.d_model, 768);
  keys.size("num_hidden_layers", c.n_layers, 12);
  keys.size("num_attention_heads", c.n_heads, 12);
  keys.size("intermediate_size", c.d_ff, 4 * c.d_model);
  int64_t rows = c.context + c.position_offset;
  keys.size("max_position_embeddings", rows, 512);
  c.context = rows - c.position_offset;
  keys.size("type_vocab_size", c.token_types, 2);
}

}  // namespace

Demand full_attention(const ModelConfig& c) {
  return {c.attention.is_full(), "attention.kind=full"};
}

Demand plain_heads(const ModelConfig& c) {
  return {c.kv_heads() == c.n_heads && c.head_width() * c.n_heads == c.d_model,
          "as many key heads as query heads, together as wide as model.d_model"};
}

std::vector<Demand> plain_blocks(const ModelConfig& c) {
  return {{!c.parallel_blocks, "model.parallel_blocks=false"},
          {!c.qk_norm, "model.qk_norm=false"},
          {c.attention_out_bias, "model.attention_out_bias=true"}};
}

std::vector<Demand> decoder_demands(const ModelConfig& c, std::vector<Demand> own) {
  own.insert(own.end(), {{!c.scale_embeddings, "model.scale_embeddings=false"},
                         {c.score_width == 0, "model.score_width=0"},
                         {c.rope_window_theta == 0, "model.rope_window_theta=0"}});
  return scaled_decoder_demands(c, own);
}

std::vector<Demand> scaled_decoder_demands(const ModelConfig& c, std::vector<Demand> own) {
  own.insert(own.end(), {{!c.architecture->reads_prompts_both_ways(c), "model.prefix=false"},
                         {c.head != Head::token, "model.head other than token"},
                         {c.token_types == 0 && !c.embedding_norm,
                          "no token types and no norm of the embeddings"}});
  return own;
}

void add_decoder_head(NameCollector& names, const std::string& tokens) {
  const ModelConfig& c = names.c;
  if (c.head == Head::sequence)
    names.same("score.weight", "classifier.weight", {c.labels, c.d_model});
  else if (c.tie_embeddings)
    names.map.second_uses = {{"lm_head.weight", tokens}};
  else
    names.same("lm_head.weight", "head.weight", {c.vocab_size, c.d_model});
}

Demand plain_activation(const ModelConfig& c) {
  return {!is_gated(c.activation), "model.activation gelu_tanh, gelu_erf, relu or silu"};
}

std::vector<Demand> encoder_demands(const ModelConfig& c, const Demand& offset, MlpKind of_head) {
  std::vector<Demand> all = plain_blocks(c);
  all.insert(all.end(), {{c.positions == Positions::learned, "model.positions=learned"},
                         offset,
                         {c.norm == ops::Norm::layer && c.norm_placement == NormPlacement::post,
                          "layer norm after each half block"},
                         plain_activation(c),
                         {!c.scale_embeddings, "model.scale_embeddings=false"},
                         {c.score_width == 0, "model.score_width=0"},
                         head_activation_demand(c, of_head),
                         {c.bias && c.embedding_norm, "model.bias and model.embedding_norm"},
                         {c.token_types > 0, "model.token_types above 0"},
                         plain_heads(c),
                         {bert_options(c).pool == Pool::first, "model.pool=first"}});
  return all;
}

Demand tanh_pooler(const ModelConfig& c) {
  return {!bert_options(c).pooler_activation, "model.pooler_activation=tanh"};
}

void add_dense_classifier(NameCollector& names) {
  const ModelConfig& c = names.c;
  names.linear("classifier.dense", "pooler", c.d_model, c.d_model, true);
  names.linear("classifier.out_proj", "classifier", c.labels, c.d_model, true);
}

void add_encoder(NameCollector& names) {
  const int64_t width = names.c.d_model, hidden = names.c.hidden();
  add_embeddings(names);
  for (int64_t i = 0; i < names.c.n_layers; ++i) {
    const std::string theirs = fmt::format("{}encoder.layer.{}", names.map.prefix, i),
                      ours = names.block(i);
    names.linear(theirs + ".attention.self.query", ours + ".attention.q", width, width, true);
    names.linear(theirs + ".attention.self.key", ours + ".attention.k", width, width, true);
    names.linear(theirs + ".attention.self.value", ours + ".attention.v", width, width, true);
    names.linear(theirs + ".attention.output.dense", ours + ".attention.out", width, width, true);
    names.layer_norm(theirs + ".attention.output.LayerNorm", ours + ".norm_1");
    names.linear(theirs + ".intermediate.dense", ours + ".mlp.up", hidden, width, true);
    names.linear(theirs + ".output.dense", ours + ".mlp.down", width, hidden, true);
    names.layer_norm(theirs + ".output.LayerNorm", ours + ".norm_2");
  }
}

// Where weights are tied, the decoder's bias is only another name of it. Else transformers 5 adds
// the decoder's and never reads the other one, while to transformers 4 they are one.
void add_vocabulary_head(NameCollector& names, const std::string& dense, const std::string& norm,
                         const std::string& decoder, const std::string& bias) {
  const ModelConfig& c = names.c;
  const std::string tokens = names.map.prefix + "embeddings.word_embeddings.weight",
                    weight = decoder + ".weight", of_decoder = decoder + ".bias";
  const bool tied = c.tie_embeddings;
  ForeignTensor& added = names.same(tied ? bias : of_decoder, "head.bias", {c.vocab_size});
  added.other_names = {tied ? of_decoder : bias};
  names.linear(dense, "head.dense", c.d_model, c.d_model, true);
  names.layer_norm(norm, "head.norm");
  if (tied) {
    names.map.second_uses = {{of_decoder, bias}, {weight, tokens}};
  } else {
    names.map.copies = {{bias, of_decoder}};
    names.map.buffers.push_back(bias);
    names.same(weight, "head.weight", {c.vocab_size, c.d_model});
  }
}

void encoder_keys(ForeignConfig& keys, ModelConfig& c) {
  c.norm_placement = NormPlacement::post;
  c.embedding_norm = true;
  encoder_sizes(keys, c);
  keys.activation("hidden_act", c.activation, "gelu");
  keys.real("layer_norm_eps", c.norm_epsilon, 1e-12);
  keys.real("hidden_dropout_prob", c.dropout, 0.1);
  keys.write("attention_probs_dropout_prob", c.dropout_of_attention());
  if (keys.text("position_embedding_type", "absolute") != "absolute")
    keys.refuse("position_embedding_type", "and only absolute ones are known");
  keys.write("position_embedding_type", "absolute");
  keys.refuse_true("is_decoder", "and encoders here see the whole sequence");
  keys.refuse_true("add_cross_attention", "and models of this family have no cross attention here");
}

namespace {

// Gated ones by the activation of their gate.
constexpr std::pair<MlpKind, MlpKind> kGates[] = {{MlpKind::swiglu, MlpKind::silu},
                                                  {MlpKind::geglu_tanh, MlpKind::gelu_tanh},
                                                  {MlpKind::geglu_erf, MlpKind::gelu_erf},
                                                  {MlpKind::reglu, MlpKind::relu}};

}  // namespace

MlpKind gated_by(MlpKind plain) {
  for (const auto& [gated, gate] : kGates)
    if (gate == plain) return gated;
  return plain;
}

MlpKind gate_of(MlpKind kind) {
  for (const auto& [gated, gate] : kGates)
    if (gated == kind) return gate;
  return kind;
}

int64_t encoder_layers(const ModelConfig& c) {
  const int64_t given = transformer_options(c).encoder_layers;
  return given ? given : c.n_layers / 2;
}

void take_layers(const ForeignConfig& keys, ModelConfig& c, int64_t encoder, int64_t decoder) {
  if (!keys.reads()) return;
  require(
      encoder > 0 && decoder > 0,
      "{} says {} layers of the encoder and {} of the decoder; a model has at least one of each "
      "here",
      keys.origin(), encoder, decoder);
  c.n_layers = encoder + decoder;
  transformer_options(c).encoder_layers = encoder;
}

std::vector<Demand> mapper_demands(const ModelConfig& c) {
  return {full_attention(c), {c.token_types == 0, "model.token_types=0"}};
}

void mapper_keys(ForeignConfig& keys) {
  keys.must_be("is_encoder_decoder", true, "and models of this family have both halves here");
  keys.refuse_true("is_decoder", "and models of this family have both halves here");
  keys.write("is_encoder_decoder", true);
}

}  // namespace skein::convert
