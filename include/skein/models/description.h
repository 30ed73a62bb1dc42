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
// Whether train.frozen_layers=`frozen` of a model of so many blocks leaves the part as it is: the
// embeddings and so many blocks, with all blocks also the final norm; -1: nothing.
bool is_frozen(const Part& part, int64_t frozen, int64_t blocks);
// How many numbers of the whole model these are.
int64_t frozen_numbers(const ModelConfig& model, int64_t frozen);
// Adds the piece's tensors to `parameters`, which are of whole tensors or of a shard of each.
void describe(const ModelConfig& config, const ModelPiece& piece, Parameters& parameters);
// The shapes of the whole tensors of a piece.
TensorShapes tensor_shapes(const ModelConfig& config, const ModelPiece& piece);

}  // namespace skein
