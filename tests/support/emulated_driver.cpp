// The driver below src/tensor/cuda/cuda.cpp, on the emulated device. What is queued is done at
// once, so waits have nothing to wait for; they are counted.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <utility>

#include "emulated_device.h"

using skein::emulation::Access;
using skein::emulation::Arena;
using skein::emulation::arena;
using skein::emulation::now_or_recorded;
using skein::emulation::Recorded;
using skein::emulation::recording;

struct EmulatedStream {};
struct EmulatedGraph {
  Recorded work;
};

namespace {

constexpr size_t kPage = 4096;

EmulatedStream the_stream;
std::atomic<int64_t> device_memory, host_memory, waits, copies_to_host, graphs;

void refuse_in_recording(const char* what) {
  if (!recording) return;
  std::fprintf(stderr, "a graph that is recorded %s\n", what);
  std::abort();
}

}  // namespace

namespace skein::emulation {

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
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "emulated GPU");
  properties->totalGlobalMem = Arena::kBytes;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidValue; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = &the_stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  refuse_in_recording("waits for the device");
  ++waits;
  return cudaSuccess;
}

// Unlike a driver this one hands out memory while a graph is recorded: recorded products hold their
// operands here.
cudaError_t cudaMalloc(void** data, size_t bytes) {
  ++device_memory;
  const Access access;
  const size_t size = (bytes + kPage - 1) / kPage * kPage;
  if (!arena.data) {
    void* all =
        mmap(nullptr, Arena::kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return cudaErrorMemoryAllocation;
    arena.data = static_cast<std::byte*>(all);
  }
  if (size > Arena::kBytes - arena.used) return cudaErrorMemoryAllocation;
  *data = arena.data + arena.used;
  if (mprotect(*data, size, PROT_READ | PROT_WRITE) != 0) return cudaErrorMemoryAllocation;
  arena.used += size;
  std::memset(*data, 0xff, size);
  return cudaSuccess;
}

// What is given back is not handed out again.
cudaError_t cudaFree(void*) {
  ++device_memory;
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** data, size_t bytes) {
  ++host_memory;
  *data = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  return *data ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = Arena::kBytes - arena.used;
  *total = Arena::kBytes;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  if (kind != cudaMemcpyDeviceToDevice) refuse_in_recording("copies between host and device");
  copies_to_host += kind == cudaMemcpyDeviceToHost;
  now_or_recorded([=] {
    const Access access;
    std::memmove(to, from, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t) {
  now_or_recorded([=] {
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

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  for (const auto& work : graph->work) work();
  return cudaSuccess;
}
