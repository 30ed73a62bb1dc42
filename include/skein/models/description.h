// Describes the tensors of a model, their names and shapes, without memory for them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "skein/models/config.h"
#include "skein/models/model.h"

namespace skein {

// By name, as a checkpoint holds them. A further use of a tensor (a tied head) is not listed.
using TensorShapes = std::map<std::string, std::vector<int64_t>>;

// The piece that is the whole model.
ModelPiece whole_piece(const ModelConfig& config);
// Adds the piece's tensors to `parameters`, which are of whole tensors or of a shard of each.
void describe(const ModelConfig& config, const ModelPiece& piece, Parameters& parameters);
// The shapes of the whole tensors of a piece.
TensorShapes tensor_shapes(const ModelConfig& config, const ModelPiece& piece);

}  // namespace skein
