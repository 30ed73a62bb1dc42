// The emulated device's memory and driver: what cuda_emulation.cpp and emulated_driver.cpp share,
// and what tests may ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
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

// While it lives device memory is not protected at all.
class Opened {
 public:
  Opened();
  ~Opened();
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
};

// What the computation's stream of a device is to do, in its order; where this thread records a
// graph, `recording` keeps it for later.
using Recorded = std::vector<std::function<void()>>;
extern thread_local Recorded* recording;
void now_or_recorded(int device, std::function<void()> work);

// While it lives there are so many GPUs, and what is queued on a stream is done by a thread of that
// stream, now and then late. Freed memory is poisoned. A device has room for kResident kernels at
// once, those that wait for another rank among them. One at a time.
class Asynchronous {
 public:
  // The computation's, and one each way to and from each of two neighbours.
  static constexpr int kResident = 5;

  explicit Asynchronous(int devices, uint64_t seed = 1);
  ~Asynchronous();
  Asynchronous(const Asynchronous&) = delete;
  Asynchronous& operator=(const Asynchronous&) = delete;

 private:
  Opened opened_;
};
int device_count();

// While it lives every device is the same one, seen under several numbers.
class OneGpuForAll {
 public:
  OneGpuForAll();
  ~OneGpuForAll();
};
int chosen_device();
// Of the device that this thread has chosen.
std::string identity_of_this_thread();

// While it lives, taking memory and the first launch of a kernel on a device wait for all that is
// queued there, on any stream, as drivers may.
class WaitingDriver {
 public:
  WaitingDriver();
  ~WaitingDriver();
};
// What comes before a launch, and before a product of new shapes.
void load_kernel(int device, const std::string& name);
void wait_in_driver(int device);

// Held by a thread that stands still in the driver: nobody else's call for that device returns
// meanwhile.
std::recursive_mutex& driver_lock(int device);
// Calls for a device by threads that had not chosen it: in a driver each begins a context on the
// first device.
int64_t calls_on_no_device();

// Communicators of all ranks.
struct NcclCalls {
  int64_t begun = 0, finalized = 0, aborted = 0;
};
NcclCalls nccl_calls();

}  // namespace skein::emulation
