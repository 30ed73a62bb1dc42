#include "skein/tensor/cuda.h"

#include <atomic>
#include <bit>
#include <cuda_runtime.h>
#include <exception>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "skein/tensor/buffer.h"

namespace skein::cuda {
namespace {

constexpr int64_t kSmallest = 512;

// Size classes an eighth of a power of two apart.
int64_t size_class(int64_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  const int64_t step = std::max<int64_t>(
      kSmallest, int64_t{1} << (std::bit_width(static_cast<uint64_t>(bytes)) - 4));
  return (bytes + step - 1) / step * step;
}

// Pinned memory that copies to the device pass through; a part is free again when its copy has run.
struct Staging {
  static constexpr int64_t kBytes = 64 << 20;
  std::byte* data = nullptr;
  int64_t used = 0;
};

using Blocks = std::unordered_map<int64_t, std::vector<std::byte*>>;

struct OneDevice {
  std::mutex mutex;  // held while the host waits for this device, so nobody else's
  cudaStream_t stream = nullptr;
  std::unordered_map<int, Blocks> kept;          // by pool; 0 is everybody's
  std::unordered_map<std::byte*, int> recorded;  // the pool of blocks that are not everybody's
  Staging staging;
};

// What this thread allocates from.
thread_local int current_pool = 0;

struct Devices {
  std::mutex mutex;
  std::unordered_map<int, OneDevice> all;
};

// Never destroyed: the driver may be gone before static objects are.
Devices& devices() {
  static Devices& instance = *new Devices;
  return instance;
}

OneDevice& known(int index) {
  const std::lock_guard lock(devices().mutex);
  return devices().all[index];
}

// To be locked by whoever uses it.
OneDevice& device(int index) {
  OneDevice& one = known(index);
  check(cudaSetDevice(index), "choosing the device");
  const std::lock_guard lock(one.mutex);
  if (!one.stream)
    check(cudaStreamCreateWithFlags(&one.stream, cudaStreamNonBlocking), "making a stream");
  return one;
}

// Afterwards nothing reads the staging any more.
void drain(OneDevice& one, const char* why) {
  check(cudaStreamSynchronize(one.stream), why);
  one.staging.used = 0;
}

void free_kept(OneDevice& one) {
  drain(one, "waiting for the stream");
  for (auto& [size, blocks] : one.kept[0]) {
    for (std::byte* data : blocks) check(cudaFree(data), "freeing device memory");
    blocks.clear();
  }
}

// Null when memory is short.
std::byte* from_driver(OneDevice& one, int64_t size) {
  void* data = nullptr;
  if (cudaMalloc(&data, static_cast<size_t>(size)) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  if (current_pool) one.recorded[static_cast<std::byte*>(data)] = current_pool;
  return static_cast<std::byte*>(data);
}

std::byte* staged(OneDevice& one, const std::byte* from, int64_t bytes) {
  Staging& staging = one.staging;
  if (!staging.data)
    check(cudaMallocHost(reinterpret_cast<void**>(&staging.data), Staging::kBytes),
          "taking pinned memory");
  if (staging.used + bytes > Staging::kBytes) drain(one, "waiting for copies to the device");
  std::byte* to = staging.data + staging.used;
  std::memcpy(to, from, static_cast<size_t>(bytes));
  staging.used += (bytes + 255) / 256 * 256;
  return to;
}

void copy_to_device(OneDevice& one, std::byte* to, const std::byte* from, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    const int64_t part = std::min(bytes - done, Staging::kBytes / 2);
    check(cudaMemcpyAsync(to + done, staged(one, from + done, part), static_cast<size_t>(part),
                          cudaMemcpyHostToDevice, one.stream),
          "copying to the device");
    done += part;
  }
}

}  // namespace

bool built_in() { return true; }

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

namespace {

cudaDeviceProp properties_of(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "asking what the GPU is");
  return properties;
}

}  // namespace

std::string address(int index) {
  char text[32] = "";
  check(cudaDeviceGetPCIBusId(text, sizeof(text), index), "asking where the GPU sits");
  return text;
}

std::string identity(int index) {
  const cudaDeviceProp properties = properties_of(index);
  return {properties.uuid.bytes, sizeof(properties.uuid.bytes)};
}

std::string name(int index) {
  const cudaDeviceProp properties = properties_of(index);
  return fmt::format("{}, {:.1f} GiB", properties.name,
                     static_cast<double>(properties.totalGlobalMem) / (1 << 30));
}

Memory memory(int index) {
  check(cudaSetDevice(index), "choosing the device");
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
}

void check(int status, const char* what) {
  if (status == cudaSuccess) return;
  const auto error = static_cast<cudaError_t>(status);
  fail("CUDA: {} failed: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

void* stream(int index) { return device(index).stream; }

void synchronize(int index) {
  OneDevice& one = device(index);
  const std::lock_guard lock(one.mutex);
  drain(one, "waiting for the device");
}

std::byte* allocate(int64_t bytes, int index) {
  OneDevice& one = device(index);
  const std::lock_guard lock(one.mutex);
  const int64_t size = size_class(bytes);
  auto& kept = one.kept[current_pool][size];
  if (!kept.empty()) {
    std::byte* data = kept.back();
    kept.pop_back();
    return data;
  }
  if (std::byte* data = from_driver(one, size)) return data;
  free_kept(one);
  if (std::byte* data = from_driver(one, size)) return data;
  const auto [free, total] = memory(index);
  throw OutOfMemory(fmt::format(
      "out of memory on GPU {}: {} MiB were asked for, {} of {} MiB are free; give this "
      "less to do at a time, or more ranks",
      index, size >> 20, free >> 20, total >> 20));
}

void release(std::byte* data, int64_t bytes, int index) {
  OneDevice& one = known(index);
  const std::lock_guard lock(one.mutex);
  const auto own = one.recorded.find(data);
  one.kept[own == one.recorded.end() ? 0 : own->second][size_class(bytes)].push_back(data);
}

void copy(std::byte* to, Device to_device, const std::byte* from, Device from_device,
          int64_t bytes) {
  if (bytes == 0) return;
  const bool into = to_device.kind == DeviceKind::cuda,
             out_of = from_device.kind == DeviceKind::cuda;
  OneDevice& one = device(into ? to_device.index : from_device.index);
  const std::lock_guard lock(one.mutex);
  if (into && !out_of) return copy_to_device(one, to, from, bytes);
  const auto size = static_cast<size_t>(bytes);
  check(cudaMemcpyAsync(to, from, size, into ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost,
                        one.stream),
        "copying from the device");
  if (!into) drain(one, "copying from the device");
}

void zero(std::byte* data, int64_t bytes, int index) {
  if (bytes)
    check(cudaMemsetAsync(data, 0, static_cast<size_t>(bytes),
                          static_cast<cudaStream_t>(stream(index))),
          "filling with zeros");
}

namespace {

class UsePool {
 public:
  explicit UsePool(int pool) : before_(std::exchange(current_pool, pool)) {}
  ~UsePool() { current_pool = before_; }
  UsePool(const UsePool&) = delete;
  UsePool& operator=(const UsePool&) = delete;

 private:
  int before_;
};

int new_pool() {
  static std::atomic<int> last{0};
  return ++last;
}

}  // namespace

Recording::Recording(int index) : index_(index), pool_(new_pool()) {}

// Its blocks are everybody's from now on.
Recording::~Recording() {
  OneDevice& one = known(index_);
  std::unique_lock lock(one.mutex);
  cudaStreamSynchronize(one.stream);
  // What a graph holds may give memory back.
  lock.unlock();
  if (graph_) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph_));
  lock.lock();
  for (auto& [size, blocks] : one.kept[pool_])
    one.kept[0][size].insert(one.kept[0][size].end(), blocks.begin(), blocks.end());
  one.kept.erase(pool_);
  std::erase_if(one.recorded, [&](const auto& entry) { return entry.second == pool_; });
}

void Recording::run(const std::function<void()>& work) const {
  const UsePool pool(pool_);
  work();
}

void Recording::record(const std::function<void()>& work) {
  const auto own = static_cast<cudaStream_t>(stream(index_));
  const UsePool pool(pool_);
  check(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal),
        "beginning to record a graph");
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(own, &graph);
  if (failure) std::rethrow_exception(failure);
  check(ended, "recording a graph");
  cudaGraphExec_t made = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "making a graph of what was recorded");
  graph_ = made;
}

void Recording::queue() const {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph_),
                        static_cast<cudaStream_t>(stream(index_))),
        "queueing a graph");
}

}  // namespace skein::cuda
