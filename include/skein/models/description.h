// A model's tensors as they would be: names and shapes without the memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "skein/models/config.h"
#include "skein/models/model.h"

namespace skein {

// By name, as a checkpoint holds them. A second use of a tensor (a tied head) is none of its own.
using TensorShapes = std::map<std::string, std::vector<int64_t>>;

// All of it in one piece.
ModelPiece whole_piece(const ModelConfig& config);
// `parameters`, of the whole tensors or of a shard, receive the tensors of that piece.
void describe(const ModelConfig& config, const ModelPiece& piece, Parameters& parameters);
// Of the whole model's piece.
TensorShapes tensor_shapes(const ModelConfig& config, const ModelPiece& piece);

}  // namespace skein
