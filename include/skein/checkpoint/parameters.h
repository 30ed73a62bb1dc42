// Parameters as pieces of a checkpoint, under "param/NAME", "adam_m/NAME", "adam_v/NAME".
#pragma once

#include <string>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/piece.h"
#include "skein/nn/parameter.h"

namespace skein::checkpoint {

// Elements [begin, begin + data.size()) of the part of `parameter` that lies here, row-major;
// `data` [n] holds them. All uses of a tensor go by the name of the first.
Piece piece_of(const std::string& kind, const Parameter& parameter, int64_t begin,
               const Tensor& data);

// The name of a tensor's values in a checkpoint.
std::string weight_name(const std::string& tensor);

// The whole local part of every parameter under "param/": what a model without an optimizer loads.
std::vector<Piece> parameter_pieces(const Parameters& parameters);

// Collective. Gives the parameters memory, none for gradients, and fills them from a checkpoint.
// Errors as load_checkpoint.
void load_weights(const CheckpointInfo& from, Parameters& parameters, Group& world);

}  // namespace skein::checkpoint
