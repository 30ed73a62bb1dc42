// Small batches of a source and a target, of uneven lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/data/samples/two_sided.h"
#include "skein/models/config.h"
#include "skein/models/transformer/transformer.h"

namespace skein::test {

inline std::vector<int32_t> some_ids(int64_t count, int64_t first, int64_t ids) {
  std::vector<int32_t> made;
  for (int64_t i = 0; i < count; ++i)
    made.push_back(static_cast<int32_t>((first * 31 + i * i * 3 + i * 7 + 1) % ids));
  return made;
}

// Three rows: a long pair, a short one, and two pairs side by side.
inline std::vector<data::TokenPairs> some_pairs(int64_t source_ids, int64_t target_ids) {
  return {{{some_ids(6, 1, source_ids), some_ids(5, 2, target_ids)}},
          {{some_ids(3, 3, source_ids), some_ids(2, 4, target_ids)}},
          {{some_ids(2, 5, source_ids), some_ids(3, 6, target_ids)},
           {some_ids(4, 7, source_ids), some_ids(2, 8, target_ids)}}};
}

inline data::Batch two_sided(const std::vector<data::TokenPairs>& rows, int64_t source_length,
                             int64_t target_length) {
  return data::two_sided_batch(rows, {source_length, target_length, 0, 1, 1},
                               {4, std::ssize(rows)});
}

// Four blocks, of which the encoder has `encoder`.
inline ModelConfig small_transformer(int64_t encoder = 2) {
  ModelConfig c;
  c.architecture = &transformer_architecture();
  c.vocab_size = 11;
  c.context = 8;
  c.d_model = 8;
  c.n_layers = 4;
  c.n_heads = 4;
  c.d_ff = 12;
  c.init_std = 0.3;
  transformer_options(c).encoder_layers = encoder;
  return c;
}

inline ModelConfig small_t5() {
  ModelConfig c = small_transformer();
  c.positions = Positions::distance;
  c.norm = ops::Norm::rms;
  c.activation = MlpKind::geglu_tanh;
  c.bias = false;
  c.d_head = 3;
  TransformerOptions& own = transformer_options(c);
  own.scale_scores = false;
  own.scale_output = own.drop_outputs = true;
  own.distance_buckets = 8;
  own.distance_max = 5;
  own.start = StartValues::fan_in;
  return c;
}

inline ModelConfig small_bart() {
  ModelConfig c = small_transformer(1);
  c.norm_placement = NormPlacement::post;
  c.activation = MlpKind::gelu_erf;
  c.embedding_norm = true;
  c.position_offset = 2;
  transformer_options(c).head_bias = HeadBias::learnt;
  return c;
}

// Two vocabularies, sinusoids, and a longer source.
inline ModelConfig small_translator() {
  ModelConfig c = small_transformer();
  c.norm_placement = NormPlacement::post;
  c.activation = MlpKind::relu;
  c.positions = Positions::sinusoidal;
  c.sinusoids = kernels::Sinusoid::pairs;
  c.scale_embeddings = true;
  TransformerOptions& own = transformer_options(c);
  own.share_source = false;
  own.source_vocab_size = 13;
  own.source_context = 16;
  return c;
}

}  // namespace skein::test
