#include "skein/tensor/cuda.h"

#include <atomic>
#include <cuda_runtime.h>
#include <exception>
#include <map>
#include <mutex>
#include <unordered_map>

#include "skein/core/numbers.h"
#include "skein/tensor/buffer.h"

#include "../spans.h"

namespace skein::cuda {
namespace {

// Blocks up to kSmall are cut from pieces of their own, so that none of them stays in the way of a
// large one. Small and large pieces are as long as this, or as long as what is asked for.
constexpr int64_t kSmall = 1 << 20, kSmallPiece = 2 << 20, kLargePiece = 64 << 20;

// The blocks of a recording, or of everybody else.
struct Pool {
  Spans small, large;

  Spans& of(int64_t bytes) { return bytes <= kSmall ? small : large; }
  size_t pieces() const { return small.pieces() + large.pieces(); }
};

// Pinned memory that copies to the device pass through; a part is free again when its copy has run.
struct Staging {
  static constexpr int64_t kBytes = 64 << 20;
  std::byte* data = nullptr;
  int64_t used = 0;
};

struct OneDevice {
  mutable std::mutex mutex;  // held while the host waits for this device, so nobody else's
  cudaStream_t stream = nullptr;
  std::map<int, Pool> pools;  // 0 is everybody's
  Staging staging;
  bool reserved = false;
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

void free_whole_pieces(OneDevice& one) {
  drain(one, "waiting for the stream");
  for (Spans* spans : {&one.pools[0].small, &one.pools[0].large})
    for (std::byte* piece : spans->remove_free_pieces())
      check(cudaFree(piece), "freeing device memory");
}

// A piece from the driver, for a block of so many bytes. False when memory is short.
bool grow(Spans& spans, int64_t bytes) {
  const int64_t least = rounded_up(bytes, kSmallPiece);
  for (const int64_t size : {std::max(least, bytes <= kSmall ? kSmallPiece : kLargePiece), least}) {
    void* piece = nullptr;
    if (cudaMalloc(&piece, static_cast<size_t>(size)) == cudaSuccess) {
      spans.add(static_cast<std::byte*>(piece), size);
      return true;
    }
    cudaGetLastError();
  }
  return false;
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

Driver driver() {
  Driver found{.architectures = SKEIN_CUDA_ARCHITECTURES};
  check(cudaDriverGetVersion(&found.newest), "asking for the driver's version");
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    cudaGetLastError();
    found.error = cudaGetErrorString(status);
    // CUDA says so of no driver, too.
    found.too_old = status == cudaErrorInsufficientDriver && found.newest > 0;
  }
  check(cudaRuntimeGetVersion(&found.built), "asking for the version of CUDA");
  return found;
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

int capability(int index) {
  const cudaDeviceProp properties = properties_of(index);
  return properties.major * 10 + properties.minor;
}

std::string name(int index) {
  const cudaDeviceProp properties = properties_of(index);
  return fmt::format("{}, {:.1f} GiB", properties.name,
                     static_cast<double>(properties.totalGlobalMem) / (1 << 30));
}

namespace {

// Of the device this thread has chosen, which the caller has locked.
Memory memory_of(const OneDevice& one) {
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  Memory found{static_cast<int64_t>(free), static_cast<int64_t>(total)};
  for (const auto& [number, pool] : one.pools)
    for (const Spans* spans : {&pool.small, &pool.large}) {
      found.own += spans->all_bytes();
      found.idle += spans->free_bytes();
    }
  return found;
}

}  // namespace

Memory memory(int index) {
  const OneDevice& one = device(index);
  const std::lock_guard lock(one.mutex);
  return memory_of(one);
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

namespace {

[[noreturn]] void refuse(OneDevice& one, int64_t bytes, int index) {
  const Memory memory = memory_of(one);
  const Pool& own = one.pools[0];
  const int64_t kept = own.small.free_bytes() + own.large.free_bytes();
  throw OutOfMemory(fmt::format(
      "out of memory on GPU {}: {} MiB were asked for, {} of {} MiB are free, and {} MiB in parts "
      "of at most {} MiB; give this less to do at a time, or more ranks",
      index, bytes >> 20, memory.free >> 20, memory.total >> 20, kept >> 20,
      own.large.largest_free() >> 20));
}

}  // namespace

std::byte* allocate(int64_t bytes, int index) {
  OneDevice& one = device(index);
  const std::lock_guard lock(one.mutex);
  Spans& spans = one.pools[current_pool].of(bytes);
  if (std::byte* data = spans.take(bytes)) return data;
  if (!grow(spans, bytes)) {
    free_whole_pieces(one);
    if (!grow(spans, bytes)) refuse(one, bytes, index);
  }
  return spans.take(bytes);
}

void reserve(double part, int index) {
  OneDevice& one = device(index);
  const std::lock_guard lock(one.mutex);
  if (std::exchange(one.reserved, true)) return;
  const auto bytes = static_cast<int64_t>(part * static_cast<double>(memory_of(one).free)) /
                     kLargePiece * kLargePiece;
  if (bytes > 0) grow(one.pools[0].large, bytes);
  grow(one.pools[0].small, kLargePiece);
}

namespace {

std::atomic<bool> poisoned{false};

// Not what a recording frees: its own work would write it again and again.
void poison(OneDevice& one, std::byte* data, int64_t bytes) {
  if (!poisoned || current_pool != 0) return;
  check(cudaMemsetAsync(data, 0xff, static_cast<size_t>(bytes), one.stream),
        "poisoning freed memory");
}

}  // namespace

void poison_freed(bool on) { poisoned = on; }

void release(std::byte* data, int64_t bytes, int index) {
  OneDevice& one = known(index);
  const std::lock_guard lock(one.mutex);
  poison(one, data, bytes);
  for (auto& [number, pool] : one.pools)
    if (Spans& spans = pool.of(bytes); spans.holds(data)) return spans.give(data);
  SKEIN_CHECK(false);
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

size_t pieces_in_pool(int index, int pool) {
  OneDevice& one = device(index);
  const std::lock_guard lock(one.mutex);
  return one.pools[pool].pieces();
}

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
  Pool& own = one.pools[pool_];
  one.pools[0].small.absorb(own.small);
  one.pools[0].large.absorb(own.large);
  one.pools.erase(pool_);
}

void Recording::run(const std::function<void()>& work) {
  const UsePool pool(pool_);
  const size_t before = pieces_in_pool(index_, pool_);
  work();
  settled_ = pieces_in_pool(index_, pool_) == before;
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
