// Names and shapes of a model's tensors, as a checkpoint holds them, without making the model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "skein/models/config.h"

namespace skein {

using TensorShapes = std::map<std::string, std::vector<int64_t>>;

// Of one block, without the "block.N." that each begins with: all blocks are alike.
TensorShapes block_tensors(const ModelConfig& config);
// All others. A second use of a tensor (a tied head) is none of its own.
TensorShapes other_tensors(const ModelConfig& config);

}  // namespace skein
