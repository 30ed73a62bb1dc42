// Options of rotary positions, of any architecture.
#pragma once

#include "skein/models/config.h"

namespace skein {

void bind_rotary(Options& options, ModelConfig& config);
// Throws usage errors for positions that cannot be.
void check_rotary(const ModelConfig& config);

}  // namespace skein
