// The driver below src/tensor/cuda, on emulated devices. Waits of the host are counted.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <string>
#include <sys/mman.h>
#include <utility>

#include "emulated_device.h"
#include "emulated_streams.h"

using skein::emulation::Access;
using skein::emulation::Arena;
using skein::emulation::arena;
using skein::emulation::Recorded;
using skein::emulation::recording;

struct EmulatedGraph {
  Recorded work;
};

namespace {

// Large pages, since all of the memory is opened and closed for each kernel.
constexpr size_t kPage = 2 << 20, kPoisoned = size_t{1} << 30, kDevices = 16;

std::array<size_t, kDevices> taken{};  // bytes of each

// None until it chooses.
thread_local int this_device = -1;
std::atomic<bool> one_gpu = false;
std::atomic<int64_t> on_no_device = 0;

std::string identity_of(int device) {
  return fmt::format("emulated GPU {:02}", one_gpu ? 0 : device);
}

// What a call on the thread's device begins with.
using InDriver = std::lock_guard<std::recursive_mutex>;
InDriver enter_driver() {
  on_no_device += this_device < 0;
  return InDriver(skein::emulation::driver_lock(std::max(0, this_device)));
}

std::atomic<int64_t> device_memory, host_memory, waits, copies_to_host, graphs;

void queue_or_record(cudaStream_t stream, std::function<void()> work) {
  if (recording)
    recording->push_back(std::move(work));
  else
    stream->add(std::move(work));
}

void refuse_in_recording(const char* what) {
  if (!recording) return;
  std::fprintf(stderr, "a graph that is recorded %s\n", what);
  std::abort();
}

}  // namespace

namespace skein::emulation {

std::recursive_mutex& driver_lock(int device) {
  static std::array<std::recursive_mutex, kDevices> locks;
  return locks.at(static_cast<size_t>(device));
}

int64_t calls_on_no_device() { return on_no_device; }
int chosen_device() { return this_device; }
std::string identity_of_this_thread() { return identity_of(this_device); }
OneGpuForAll::OneGpuForAll() { one_gpu = true; }
OneGpuForAll::~OneGpuForAll() { one_gpu = false; }

DriverCalls driver_calls() { return {device_memory, host_memory, waits, copies_to_host, graphs}; }

}  // namespace skein::emulation

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "invalid argument";
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorInvalidValue";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = skein::emulation::device_count();
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const std::string identity = identity_of(device);
  std::memcpy(properties->uuid.bytes, identity.data(), sizeof(properties->uuid.bytes));
  std::strcpy(properties->name, "emulated GPU");
  properties->totalGlobalMem = Arena::kBytes;
  properties->major = 9;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<size_t>(size), "0000:%02x:00.0", device);
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= skein::emulation::device_count()) return cudaErrorInvalidValue;
  this_device = device;
  return cudaSuccess;
}

// Never destroyed: they are those of all computation.
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new EmulatedStream(this_device);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  refuse_in_recording("waits for the device");
  ++waits;
  stream->drain();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new EmulatedEvent;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const InDriver here = enter_driver();
  const auto state = event->state;
  int64_t number = 0;
  {
    const std::lock_guard lock(state->mutex);
    number = ++state->recorded;
  }
  stream->add([state, number] {
    const std::lock_guard lock(state->mutex);
    state->passed = number;
    state->changed.notify_all();
  });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const InDriver here = enter_driver();
  const std::lock_guard lock(event->state->mutex);
  return event->state->passed == event->state->recorded ? cudaSuccess : cudaErrorNotReady;
}

// For what was recorded last, when this is called.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const InDriver here = enter_driver();
  const auto state = event->state;
  int64_t number = 0;
  {
    const std::lock_guard lock(state->mutex);
    number = state->recorded;
  }
  stream->add([state, number] {
    std::unique_lock lock(state->mutex);
    state->changed.wait(lock, [&] { return state->passed >= number; });
  });
  return cudaSuccess;
}

// Unlike a driver this one hands out memory while a graph is recorded: recorded products hold their
// operands here.
cudaError_t cudaMalloc(void** data, size_t bytes) {
  ++device_memory;
  skein::emulation::wait_in_driver(this_device);
  const Access access;
  const size_t size = (bytes + kPage - 1) / kPage * kPage;
  if (!arena.data) {
    void* all = mmap(nullptr, Arena::kBytes * kDevices + kPage, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return cudaErrorMemoryAllocation;
    const uintptr_t first = (reinterpret_cast<uintptr_t>(all) + kPage - 1) / kPage * kPage;
    arena.data = reinterpret_cast<std::byte*>(first);
    madvise(arena.data, Arena::kBytes * kDevices, MADV_HUGEPAGE);
  }
  size_t& own = taken.at(static_cast<size_t>(this_device));
  if (size > Arena::kBytes - own) return cudaErrorMemoryAllocation;
  own += size;
  *data = arena.data + arena.used;
  if (mprotect(*data, size, PROT_READ | PROT_WRITE) != 0) return cudaErrorMemoryAllocation;
  arena.used += size;
  // Not of what is kept for later: it would take as much of the host's.
  if (size < kPoisoned) std::memset(*data, 0xff, size);
  return cudaSuccess;
}

// What is given back is not handed out again.
cudaError_t cudaFree(void*) {
  ++device_memory;
  skein::emulation::wait_in_driver(this_device);
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** data, size_t bytes) {
  ++host_memory;
  skein::emulation::wait_in_driver(this_device);
  *data = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  return *data ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Access access;
  *free = Arena::kBytes - taken.at(static_cast<size_t>(this_device));
  *total = Arena::kBytes;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (kind != cudaMemcpyDeviceToDevice) refuse_in_recording("copies between host and device");
  copies_to_host += kind == cudaMemcpyDeviceToHost;
  queue_or_record(stream, [=] {
    const Access access;
    std::memmove(to, from, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  queue_or_record(stream, [=] {
    const Access access;
    std::memset(data, value, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  recording = new Recorded;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  const Recorded* recorded = std::exchange(recording, nullptr);
  *graph = new EmulatedGraph{*recorded};
  delete recorded;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  ++graphs;
  *made = new EmulatedGraph{*graph};
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  for (const auto& work : graph->work) stream->add(work);
  return cudaSuccess;
}
