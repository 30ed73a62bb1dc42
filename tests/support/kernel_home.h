// Where the CUDA kernels under test find their tensors: on a GPU, or where they are emulated on the host.
#pragma once

#include "skein/tensor/device.h"

namespace skein::test {

#ifdef SKEIN_CUDA
constexpr Device kHome{DeviceKind::cuda, 0};
#else
constexpr Device kHome{};
#endif

}  // namespace skein::test
