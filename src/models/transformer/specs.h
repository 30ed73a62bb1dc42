// What the options say of an encoder-decoder's layers. Internal to the architecture.
#pragma once

#include "skein/models/transformer/options.h"
#include "skein/models/trunk.h"
#include "skein/nn/distance_bias.h"

namespace skein {

// Configs are written out.
EmbeddingSpec source_embedding(const ModelConfig& config, bool sequence_parallel);
EmbeddingSpec target_embedding(const ModelConfig& config, bool sequence_parallel);
BlockSpec encoder_block(const ModelConfig& config, bool sequence_parallel);
BlockSpec decoder_block(const ModelConfig& config, bool sequence_parallel);
DistanceBiasSpec distances(const ModelConfig& config, const char* name, bool both_ways);
Parameter& add_transformer_head(const ModelConfig& config, int chunk, Parameters& parameters);

}  // namespace skein
