// Where the CUDA kernels under test find their tensors: on a GPU, or on the emulated one.
#pragma once

#include "skein/tensor/device.h"

namespace skein::test {

constexpr Device kHome{DeviceKind::cuda, 0};

}  // namespace skein::test
