#include "skein/models/trunk.h"

#include <cmath>

#include "skein/models/architecture.h"

namespace skein {

NormSpec norm_spec(const ModelConfig& c, const std::string& name, bool sequence_parallel) {
  return {name, c.d_model, c.norm, c.norm_epsilon, c.bias, sequence_parallel};
}

EmbeddingSpec embedding_spec(const ModelConfig& c, bool sequence_parallel) {
  EmbeddingSpec made{c.vocab_size,  c.d_model, c.context,  c.positions, c.position_offset,
                     c.token_types, {},        c.init_std, c.dropout};
  made.sinusoids = c.sinusoids;
  if (c.scale_embeddings) made.token_scale = std::sqrt(static_cast<double>(c.d_model));
  if (c.embedding_norm) made.norm = norm_spec(c, "", sequence_parallel);
  return made;
}

BlockSpec block_spec(const ModelConfig& c, bool sequence_parallel) {
  const double rate = 1 / c.width_ratio(), deviation = c.init_std / std::sqrt(c.width_ratio());
  const double out_deviation = deviation / std::sqrt(2.0 * static_cast<double>(c.n_layers));
  const AttentionSpec attention{"",
                                0,
                                c.d_model,
                                c.n_heads,
                                c.kv_heads(),
                                c.head_width(),
                                c.positions == Positions::rotary,
                                rotary_waves(c),
                                c.bias || c.attention_bias,
                                c.dropout_of_attention(),
                                deviation,
                                out_deviation,
                                sequence_parallel,
                                c.window,
                                !c.architecture->sees_ahead(),
                                rate,
                                c.attention_scale()};
  const MlpSpec mlp{"",     c.d_model,           c.hidden(),    c.activation,
                    c.bias, deviation,           out_deviation, sequence_parallel,
                    rate,   c.activation_dropout};
  return attention_and_mlp(attention, mlp, norm_spec(c, "", sequence_parallel), c.norm_placement,
                           c.dropout);
}

LinearSpec head_layer(const ModelConfig& c, const char* name, int64_t outputs, double deviation,
                      RowKind meets, bool bias) {
  return {name, c.d_model, outputs, Split::none, bias, deviation, false, 1, meets};
}

Parameter& add_decoder(const ModelConfig& c, const char* bucket, int chunk,
                       Parameters& parameters) {
  parameters.enter(bucket, chunk, {c.tie_embeddings ? Part::embedding : Part::head});
  return parameters.add({.name = "head.weight",
                         .shape = {c.vocab_size, c.d_model},
                         .split = Split::vocab,
                         .start = {Start::normal, c.init_std},
                         .tied_to = c.tie_embeddings ? "embedding.tokens.weight" : "",
                         .meets = RowKind::places});
}

Trunk::Trunk(const ModelConfig& c, const ModelPiece& piece, bool sequence_parallel,
             Parameters& parameters)
    : config_(c),
      sequence_parallel_(sequence_parallel && parameters.shards() > 1),
      shards_(parameters.shards()) {
  if (piece.embeds)
    embedding_.emplace(parameters, embedding_spec(c, sequence_parallel_), piece.chunk);
  const std::vector<BlockSpec> blocks(static_cast<size_t>(piece.last_block - piece.first_block),
                                      block_spec(c, sequence_parallel_));
  stack_.emplace(parameters, piece.first_block, piece.chunk, blocks);
}

Pass Trunk::carried_out(const Pass& pass) const {
  Pass made = pass;
  made.sequence_parallel = pass.sequence_parallel && sequence_parallel_;
  return made;
}

Var Trunk::operator()(const Flow& flow, const Pass& pass) const {
  const Pass inner = carried_out(pass);
  return (*stack_)(embedding_ ? (*embedding_)(inner) : flow.only(), inner);
}

std::vector<Shape> Trunk::flow_shapes(const Pass& pass) const {
  const int64_t length = pass.batch->length();
  return {{pass.batch->size(), carried_out(pass).sequence_parallel ? length / shards_ : length,
           config_.d_model}};
}

}  // namespace skein
