// Runs of elements from one type to another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "skein/tensor/dtype.h"

namespace skein::checkpoint {

// `count` elements; neither end needs alignment. Equal types are copied bit for bit; floating types
// round to nearest, ties to even, once.
void convert_run(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to,
                 int64_t count);

}  // namespace skein::checkpoint
