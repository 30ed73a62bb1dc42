// Layers of models of graphs, as their options say.
#pragma once

#include "skein/models/gnn/gnn.h"

namespace skein {

std::vector<BlockSpec> graph_blocks(const ModelConfig& config, const ModelPiece& piece);
// A layer of the plain form, but for its name.
LinkAttentionSpec plain_spec(const ModelConfig& config, int block);
PairNeeds pair_needs(const ModelConfig& config);
GraphNeeds graph_needs(const ModelConfig& config);

}  // namespace skein
