#include "specs.h"

#include <cmath>

namespace skein {
namespace {

double over_root(int64_t inputs) { return 1 / std::sqrt(static_cast<double>(inputs)); }

bool by_fan_in(const ModelConfig& c) { return transformer_options(c).start == StartValues::fan_in; }

double table_deviation(const ModelConfig& c) {
  if (!by_fan_in(c)) return c.init_std;
  return c.scale_embeddings ? over_root(c.d_model) : 1;
}

void start_by_fan_in(const ModelConfig& c, AttentionSpec& spec) {
  spec.in_deviation = over_root(c.d_model);
  spec.out_deviation = over_root(spec.heads * spec.head_width);
  if (!transformer_options(c).scale_scores)
    spec.query_deviation = over_root(c.d_model * spec.head_width);
}

void start_by_fan_in(const ModelConfig& c, MlpSpec& spec) {
  spec.in_deviation = over_root(c.d_model);
  spec.out_deviation = over_root(spec.hidden);
}

BlockSpec begun_block(const ModelConfig& c, bool causal, bool sequence_parallel) {
  BlockSpec made = block_spec(c, sequence_parallel);
  auto& attention = std::get<AttentionSpec>(made.sublayers[0].branch);
  attention.causal = causal;
  if (!transformer_options(c).scale_scores) attention.scale = 1;
  if (!by_fan_in(c)) return made;
  start_by_fan_in(c, attention);
  start_by_fan_in(c, std::get<MlpSpec>(made.sublayers[1].branch));
  return made;
}

}  // namespace

EmbeddingSpec source_embedding(const ModelConfig& c, bool sequence_parallel) {
  EmbeddingSpec made = embedding_spec(c, sequence_parallel);
  made.vocab_size = transformer_options(c).source_vocab_size;
  made.context = transformer_options(c).source_context;
  made.deviation = table_deviation(c);
  return made;
}

EmbeddingSpec target_embedding(const ModelConfig& c, bool sequence_parallel) {
  EmbeddingSpec made = embedding_spec(c, sequence_parallel);
  made.name = "target";
  made.deviation = table_deviation(c);
  if (transformer_options(c).share_source) made.tied_to = "embedding.tokens.weight";
  return made;
}

BlockSpec encoder_block(const ModelConfig& c, bool sequence_parallel) {
  BlockSpec made = begun_block(c, false, sequence_parallel);
  made.of_source = true;
  return made;
}

BlockSpec decoder_block(const ModelConfig& c, bool sequence_parallel) {
  BlockSpec made = begun_block(c, true, sequence_parallel);
  SublayerSpec cross = made.sublayers[0];
  auto& attention = std::get<AttentionSpec>(cross.branch);
  attention.name = "cross";
  attention.memory_width = c.d_model;
  attention.rotary = false;
  cross.norm.name = "norm_2";
  made.sublayers[1].norm.name = "norm_3";
  made.sublayers.insert(made.sublayers.begin() + 1, cross);
  return made;
}

DistanceBiasSpec distances(const ModelConfig& c, const char* name, bool both_ways) {
  const TransformerOptions& own = transformer_options(c);
  return {name,
          c.n_heads,
          {own.distance_buckets, own.distance_max, both_ways},
          by_fan_in(c) ? over_root(c.d_model) : c.init_std};
}

Parameter& add_transformer_head(const ModelConfig& c, int chunk, Parameters& parameters) {
  ModelConfig begun = c;
  begun.init_std =
      c.tie_embeddings ? table_deviation(c) : (by_fan_in(c) ? over_root(c.d_model) : c.init_std);
  return transformer_options(c).share_source
             ? add_decoder(begun, "head", chunk, parameters, {"embedding.tokens.weight", 3})
             : add_decoder(begun, "head", chunk, parameters, {"target.tokens.weight", 2});
}

}  // namespace skein
