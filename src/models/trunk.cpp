#include "skein/models/trunk.h"

#include <cmath>

#include "skein/models/architecture.h"
#include "skein/ops/attention.h"
#include "skein/ops/embedding.h"

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

BlockSpec block_spec(const ModelConfig& c, bool sequence_parallel, int64_t block) {
  const double rate = 1 / c.width_ratio(), deviation = c.init_std / std::sqrt(c.width_ratio());
  const double out_deviation = deviation / std::sqrt(2.0 * static_cast<double>(c.n_layers));
  AttentionSpec attention{"",
                          0,
                          c.d_model,
                          c.n_heads,
                          c.kv_heads(),
                          c.head_width(),
                          c.positions == Positions::rotary,
                          rotary_waves(c, c.attention.of_block(block, c.context).kind),
                          c.bias || c.attention_bias,
                          c.dropout_of_attention(),
                          deviation,
                          out_deviation,
                          sequence_parallel,
                          c.attention.of_block(block, c.context),
                          !c.architecture->sees_ahead(),
                          rate,
                          c.attention_scale()};
  attention.out_bias = c.attention_out_bias;
  if (c.qk_norm) attention.head_norm = c.norm_epsilon;
  if (c.norm == ops::Norm::rms_zero_centered) attention.head_norm_kind = c.norm;
  const MlpSpec mlp{"",     c.d_model,           c.hidden(),    c.activation,
                    c.bias, deviation,           out_deviation, sequence_parallel,
                    rate,   c.activation_dropout};
  BlockSpec made = attention_and_mlp(attention, mlp, norm_spec(c, "", sequence_parallel),
                                     c.norm_placement, c.dropout);
  made.parallel = c.parallel_blocks;
  return made;
}

std::vector<BlockSpec> block_specs(const ModelConfig& c, const ModelPiece& piece,
                                   bool sequence_parallel) {
  std::vector<BlockSpec> made;
  for (int block = piece.first_block; block < piece.last_block; ++block)
    made.push_back(block_spec(c, sequence_parallel, block));
  give_skips(made, piece.first_block, c.n_layers, c.stochastic_depth);
  return made;
}

LinearSpec head_layer(const ModelConfig& c, const char* name, int64_t outputs, double deviation,
                      RowKind meets, bool bias) {
  return {name, c.d_model, outputs, Split::none, bias, deviation, false, 1, meets};
}

Parameter& add_decoder(const ModelConfig& c, const char* bucket, int chunk, Parameters& parameters,
                       const TableUse& table) {
  parameters.enter(bucket, chunk, {c.tie_embeddings ? Part::embedding : Part::head});
  std::string tied = c.tie_embeddings ? table.tensor : "";
  return parameters.add({.name = "head.weight",
                         .shape = {c.vocab_size, c.d_model},
                         .split = Split::vocab,
                         .start = {Start::normal, c.init_std},
                         .tied_to = std::move(tied),
                         .use = table.number,
                         .meets = RowKind::places});
}

Var normed_features(const Var& all, const NormLayer* norm, double scale, const Pass& pass) {
  const Var hidden = pass.cache ? Var(ops::last_position(all.value())) : all;
  const Var normed = norm ? (*norm)(hidden) : hidden, made = ops::scale(normed, scale);
  if (norm && scale != 1) normed.drop_value();
  return made;
}

Var feature_rows(const Var& features, const Pass& pass) {
  const Var x = enter_shards(features, pass);
  return ops::reshape(x, {x.shape()[0] * x.shape()[1], x.shape()[2]});
}

Var rows_at_places(const Var& rows, const data::Batch& batch) {
  if (!batch.places.defined()) return rows;
  const int64_t width = rows.shape()[1];
  const Var taken =
      ops::take_places(ops::reshape(rows, {batch.size(), batch.length(), width}), batch);
  return ops::reshape(taken, {batch.places.size(), width});
}

Trunk::Trunk(const ModelConfig& c, const ModelPiece& piece, bool sequence_parallel,
             Parameters& parameters)
    : config_(c),
      sequence_parallel_(sequence_parallel && parameters.shards() > 1),
      shards_(parameters.shards()),
      dtype_(parameters.dtype()) {
  if (piece.embeds)
    embedding_.emplace(parameters, embedding_spec(c, sequence_parallel_), piece.chunk);
  stack_.emplace(parameters, piece.first_block, piece.chunk,
                 block_specs(c, piece, sequence_parallel_));
}

Var Trunk::operator()(const Flow& flow, const Pass& pass) const {
  const Pass inner = carried_out(pass);
  return (*stack_)(embedding_ ? (*embedding_)(inner) : flow.only(), inner);
}

std::vector<FlowPart> Trunk::flow_parts(const Pass& pass) const {
  const int64_t length = pass.batch->length();
  return {{{pass.batch->size(), carried_out(pass).sequence_parallel ? length / shards_ : length,
            config_.d_model},
           dtype_}};
}

}  // namespace skein
