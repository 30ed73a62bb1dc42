#include <cuda_runtime.h>

#include "skein/tensor/cuda.h"
#include "skein/tensor/cuda_streams.h"

namespace skein::cuda {
namespace {

cudaStream_t native(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t native_event(void* event) { return static_cast<cudaEvent_t>(event); }

}  // namespace

Stream::Stream(int device) {
  check(cudaSetDevice(device), "choosing the device");
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest),
        "asking for the priorities of streams");
  cudaStream_t made = nullptr;
  check(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, greatest), "making a stream");
  stream_ = made;
}

Stream::~Stream() {
  if (stream_) cudaStreamDestroy(native(stream_));
}

Events::~Events() {
  for (void* event : all_) cudaEventDestroy(native_event(event));
}

int64_t Events::record(void* stream) {
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      cudaEvent_t made = nullptr;
      check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "making an event");
      free_.push_back(static_cast<int64_t>(all_.size()));
      all_.push_back(made);
    }
    number = free_.back();
    free_.pop_back();
  }
  check(cudaEventRecord(native_event(get(number)), native(stream)), "recording an event");
  return number;
}

void Events::wait(void* stream, int64_t event) {
  check(cudaStreamWaitEvent(native(stream), native_event(get(event)), 0), "making a stream wait");
  free(event);
}

// A thread that never chose a device would begin a context on the first one.
bool Events::passed(int64_t event) {
  if (cudaSetDevice(device_) != cudaSuccess) return false;
  if (cudaEventQuery(native_event(get(event))) != cudaSuccess) return false;
  free(event);
  return true;
}

void* Events::get(int64_t event) {
  const std::lock_guard lock(mutex_);
  return all_[static_cast<size_t>(event)];
}

void Events::free(int64_t event) {
  const std::lock_guard lock(mutex_);
  free_.push_back(event);
}

}  // namespace skein::cuda
