// Where a tensor lives, and the one function that turns that into a choice of overload.
#pragma once

#include <utility>

#include "skein/core/error.h"

namespace skein {

// Tags by which kernels are overloaded. A device that needs a stream carries it in its tag.
struct Cpu {};
// Work queued on the device's stream.
struct Cuda {
  int index = 0;
};

enum class DeviceKind { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

// Calls f with the tag of the device, so that f's kernels are chosen by overload. A build without a
// device never instantiates f for it.
template <class F>
decltype(auto) on_device(const Device& device, F&& f) {
#ifdef SKEIN_CUDA
  if (device.kind == DeviceKind::cuda) return std::forward<F>(f)(Cuda{device.index});
#endif
  SKEIN_CHECK(device.kind == DeviceKind::cpu);
  return std::forward<F>(f)(Cpu{});
}

}  // namespace skein
