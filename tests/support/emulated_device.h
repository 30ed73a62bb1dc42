// The emulated device's memory and driver: what cuda_emulation.cpp and emulated_driver.cpp share,
// and what tests may ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace skein::emulation {

// Calls of the driver so far, by all threads.
struct DriverCalls {
  int64_t device_memory = 0;  // taken from it or given back
  int64_t host_memory = 0;    // pinned memory taken
  int64_t waits = 0;          // of the host for the device
  int64_t copies_to_host = 0;
  int64_t graphs = 0;  // made
};
DriverCalls driver_calls();

// Device memory, out of the host's reach but while a kernel or a copy runs.
struct Arena {
  static constexpr size_t kBytes = size_t{16} << 30;
  std::byte* data = nullptr;
  size_t used = 0;
};
extern Arena arena;

// Opens the device's memory to this thread; only one has it at a time.
class Access {
 public:
  Access();
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
};

// What a stream would do, in its order; where this thread records a graph, `recording` keeps it for
// later.
using Recorded = std::vector<std::function<void()>>;
extern thread_local Recorded* recording;
void now_or_recorded(std::function<void()> work);

}  // namespace skein::emulation
