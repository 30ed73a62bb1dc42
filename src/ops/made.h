// How ops run the kernels that make their results.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::ops {

// `tensor`, once kernel(device, Out) has written it on its device.
template <class Kernel>
Tensor made_on_device(Tensor tensor, const Kernel& kernel) {
  on_device(tensor.device(), [&](auto device) { kernel(device, Out(tensor)); });
  return tensor;
}

}  // namespace skein::ops
