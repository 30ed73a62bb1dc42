// A stable sort on the device, by digits from the lowest on, with integers alone. Internal to the
// CUDA kernels.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

struct Sorted {
  Tensor keys, positions;  // [N] i32
};

// Keys [N] i32, from 0 to `largest`, in their order, equal ones in the order in which they are
// given; with them their positions, where none are given their numbers. Takes the memory of both.
Sorted sort(const char* name, Cuda on, const Tensor& keys, int64_t largest,
            const Tensor& positions = {});

}  // namespace skein::kernels
