// CUDA streams beside the one of all computation (tensor/cuda.h), and events in any of them. In
// builds for GPUs only.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace skein::cuda {

// A stream of its own on a device, which goes first where both have work.
class Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(Stream&& other) noexcept : stream_(other.stream_) { other.stream_ = nullptr; }

  // The cudaStream_t.
  void* get() const { return stream_; }

 private:
  void* stream_ = nullptr;
};

// Events of one device, used again and again. From any thread; no call waits for the device, or for
// a thread that does.
class Events {
 public:
  explicit Events(int device) : device_(device) {}
  ~Events();

  // Marks the end of what is queued on the stream, on the calling thread's device.
  int64_t record(void* stream);
  // What is queued on the stream later waits for the event, which is then free to be recorded
  // again.
  void wait(void* stream, int64_t event);
  // Whether it has come to pass; if so, it is free to be recorded again. False after an error of
  // the device, too.
  bool passed(int64_t event);

 private:
  void* get(int64_t event);
  void free(int64_t event);

  int device_;
  std::mutex mutex_;
  std::vector<void*> all_;
  std::vector<int64_t> free_;
};

}  // namespace skein::cuda
