// Options that encoder-decoders alone have.
#pragma once

#include "skein/models/config.h"

namespace skein {

// A number for each id that is added to its logit. kept: as it was imported, it is never learnt.
enum class HeadBias { none, kept, learnt };
// How weights begin. normal: with model.init_std, those that end a sublayer with
// init_std / sqrt(2 n_layers). fan_in: those of products with 1 / sqrt(inputs), those of queries
// with 1 / sqrt(inputs d_head) where scores are not scaled; embeddings with 1, or with
// 1 / sqrt(d_model) where they are scaled (Raffel and others, "Exploring the Limits of Transfer
// Learning", 2020, as its program has them).
enum class StartValues { normal, fan_in };

struct TransformerOptions {
  int64_t encoder_layers = 0;     // of model.n_layers, the first; 0: half of them
  int64_t source_context = 0;     // 0: model.context
  int64_t source_vocab_size = 0;  // 0: model.vocab_size
  bool share_source = true;       // source and target have one table of embeddings
  int64_t distance_buckets = 32, distance_max = 128;  // of positions=distance
  bool scale_scores = true;                           // q.k is divided by sqrt(d_head)
  bool drop_outputs = false;                          // dropout also on what each half ends in
  bool scale_output = false;  // what logits are made of is divided by sqrt(d_model)
  HeadBias head_bias = HeadBias::none;
  StartValues start = StartValues::normal;

  bool operator==(const TransformerOptions&) const = default;
};

inline const TransformerOptions& transformer_options(const ModelConfig& config) {
  return config.own.get<TransformerOptions>();
}
inline TransformerOptions& transformer_options(ModelConfig& config) {
  return config.own.get<TransformerOptions>();
}

}  // namespace skein
