// What products take beside their operands.
#pragma once

#include <algorithm>
#include <cstdint>

#include "skein/tensor/device.h"
#include "skein/tensor/dtype.h"

namespace skein::kernels {

// On CPUs: whether a product of so many rows keeps copies of its right operand (PackedCopies in
// kernels/matmul.h), one for each way in which products read it, as it is and transposed. Packing
// costs a product of many rows little, and copies cost memory.
inline bool keeps_packed(DType dtype, int64_t rows) { return rows * size_of(dtype) <= 2048; }

// Of `rows` rows of logits so many exist at once, of so many columns and this type: in 128 MiB, on
// GPUs 1 GiB. At least 96, or 4,096: fewer would read the weight and its gradient too often, and
// leave most of a GPU at rest.
inline int64_t rows_of_logits(int64_t rows, int64_t columns, DType dtype, DeviceKind device) {
  const bool host = device == DeviceKind::cpu;
  const int64_t bytes = host ? 128 << 20 : 1 << 30, fewest = host ? 96 : 4096,
                fitting = bytes / (columns * size_of(gradient_dtype(dtype))) / fewest * fewest;
  return std::min(rows, std::max(fitting, fewest));
}

}  // namespace skein::kernels
