// Owned bytes on a device. Freed blocks are kept for the next request of their size class, so a
// training step in steady state asks the system for nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "skein/core/error.h"
#include "skein/tensor/device.h"

namespace skein {

// Memory is short; training adds what would need less of it (parallel/rank_memory.h).
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(ExitCode::failure, message) {}
};

class Buffer {
 public:
  // Uninitialised bytes, aligned to 64. Throws OutOfMemory with the size.
  Buffer(int64_t bytes, Device device);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  Device device() const { return device_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  Device device_;
};

struct MemoryUse {
  int64_t live = 0;    // bytes handed out now
  int64_t peak = 0;    // most bytes handed out at once since the last reset
  int64_t system = 0;  // bytes held from the system, live or kept for reuse
  int64_t asked = 0;   // times the system was asked for bytes
};

// Of the whole process (ranks that are threads share it), on the host or on its GPU; of the GPU
// only live and peak are known.
MemoryUse memory_use(DeviceKind kind = DeviceKind::cpu);
// Most memory of the process that was resident at once.
int64_t peak_resident_bytes();
void reset_peak_memory();  // for tests
// Gives memory kept for reuse back to the system, before something large is made elsewhere.
void release_unused_memory();

}  // namespace skein
