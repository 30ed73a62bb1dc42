// CUDA devices, for those who see no CUDA header. A process queues all work of a device on one
// stream.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "skein/tensor/device.h"

namespace skein::cuda {

// False in a build without GPU kernels.
bool built_in();
// 0 without a driver, and in a build without CUDA.
int device_count();
// The driver and what this build asks of it; versions of CUDA are 13000 for 13.0, 0 where there is
// none.
struct Driver {
  int newest = 0;             // that the driver can run
  int built = 0;              // of this build
  std::string architectures;  // that its kernels are for, as CMake names them: "80-real,90"
  std::string error;          // CUDA's words, where no device can be used
  bool too_old = false;       // the error is that newest is too old for what was built
};
Driver driver();
// 90 for a device of compute capability 9.0.
int capability(int index);
// "NVIDIA H200, 139.8 GiB"
std::string name(int index);
// "0000:3b:00.0", where it sits in the host.
std::string address(int index);
// What no other device has, wherever it is and whatever number processes see it under; parts of a
// divided GPU differ.
std::string identity(int index);
// Bytes of the device: what nobody has taken, all, what allocate() took for this process, and what
// of that is in no block.
struct Memory {
  int64_t free = 0, total = 0, own = 0, idle = 0;
};
Memory memory(int index);
// The device's cudaStream_t.
void* stream(int index);
// Waits until everything queued has run.
void synchronize(int index);

// Error(failure) with CUDA's words for a status that is not 0.
void check(int status, const char* what);

// Takes that part of the device's free memory now, once, so that blocks come from there and nothing
// is given back to the driver later, which waits for the device then.
void reserve(double part, int index);
// Device memory; what is given back may be taken again at once, for its users are in the stream
// before the next one's.
std::byte* allocate(int64_t bytes, int index);
void release(std::byte* data, int64_t bytes, int index);

// Queues a copy between host and device or within a device. Copies to the host have ended when this
// returns.
void copy(std::byte* to, Device to_device, const std::byte* from, Device from_device,
          int64_t bytes);
void zero(std::byte* data, int64_t bytes, int index);

// From now on memory that is given back is filled with NaN, in the order of the device's stream:
// whoever still reads it on another stream, or reads new memory before it was written, is seen. For
// tests.
void poison_freed(bool on);

// Work on a device that was recorded once and is queued as a whole. Its memory belongs to it: what
// is allocated inside `run` and `record` is used again by them alone.
class Recording {
 public:
  explicit Recording(int index);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Queues what `work` queues, from this recording's memory; the same work must run so until that
  // settles before it is recorded, so that it finds its memory and its algorithms.
  void run(const std::function<void()>& work);
  // Whether the last run took no memory from the driver: the next one that begins with as much free
  // will not, either.
  bool settled() const { return settled_; }
  // Keeps what `work` would queue, without doing it. It may not touch the host's memory.
  void record(const std::function<void()>& work);
  bool recorded() const { return graph_ != nullptr; }
  void queue() const;

 private:
  int index_, pool_;
  bool settled_ = false;
  void* graph_ = nullptr;
};

}  // namespace skein::cuda
