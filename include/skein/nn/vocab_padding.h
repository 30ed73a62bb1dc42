// How vocabularies are padded.
#pragma once

#include <cstdint>

#include "skein/tensor/device.h"

namespace skein {

// The rows of a vocabulary are rounded up to a multiple of it on each rank; nothing stores, counts
// or draws what is added. Rows of an odd number of logits are not aligned as the fast products of a
// GPU need them.
inline int64_t vocab_granule(Device device) { return device.kind == DeviceKind::cuda ? 64 : 1; }

}  // namespace skein
