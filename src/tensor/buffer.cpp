#include "skein/tensor/buffer.h"

#include <bit>
#include <cstdlib>
#include <malloc.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unordered_map>
#include <vector>

#include "skein/core/numbers.h"
#include "skein/tensor/cuda.h"

namespace skein {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kMost = int64_t{1} << 62;  // what can be rounded up

// Size classes a sixteenth of a power of two apart: at most 6% are lost to rounding.
int64_t size_class(int64_t bytes) {
  if (bytes <= 1024) return rounded_up(bytes, kAlignment);
  const int64_t step = int64_t{1} << (std::bit_width(static_cast<uint64_t>(bytes)) - 5);
  return rounded_up(bytes, step);
}

[[noreturn]] void refuse(int64_t bytes) {
  throw OutOfMemory(fmt::format(
      "out of memory: {} MiB were asked for; give this less to do at a time, or more ranks",
      bytes >> 20));
}

// What lies behind the last whole huge page is of small ones, which it may not use all of.
std::byte* from_system(int64_t bytes) {
  const int64_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  void* data = nullptr;
  if (posix_memalign(&data, alignment, rounded_up(bytes, kAlignment)) != 0) refuse(bytes);
  if (alignment == kHugePage) madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return static_cast<std::byte*>(data);
}

class Pool {
 public:
  std::byte* take(int64_t bytes) {
    if (bytes > kMost) refuse(bytes);
    const int64_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    std::byte* const data = kept_or_new(size);
    use_.live += size;
    use_.peak = std::max(use_.peak, use_.live);
    return data;
  }

  void give(std::byte* data, int64_t bytes) {
    const int64_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    use_.live -= size;
    kept_[size].push_back(data);
  }

  void release() {
    const std::lock_guard lock(mutex_);
    for (auto& [size, blocks] : kept_) {
      for (std::byte* data : blocks) std::free(data);
      use_.system -= size * static_cast<int64_t>(blocks.size());
      blocks.clear();
    }
    malloc_trim(0);
  }

  MemoryUse use() {
    const std::lock_guard lock(mutex_);
    return use_;
  }

  void reset_peak() {
    const std::lock_guard lock(mutex_);
    use_.peak = use_.live;
  }

 private:
  std::byte* kept_or_new(int64_t size) {
    auto& kept = kept_[size];
    if (kept.empty()) {
      std::byte* const data = from_system(size);
      use_.system += size;
      ++use_.asked;
      return data;
    }
    std::byte* const data = kept.back();
    kept.pop_back();
    return data;
  }

  std::mutex mutex_;
  std::unordered_map<int64_t, std::vector<std::byte*>> kept_;
  MemoryUse use_;
};

// Never destroyed: tensors with static storage may outlive any order of destruction.
Pool& pool() {
  static Pool& instance = *new Pool;
  return instance;
}

// What was asked for; the allocator behind it keeps more.
class GpuUse {
 public:
  void add(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    use_.live += bytes;
    use_.peak = std::max(use_.peak, use_.live);
  }
  MemoryUse use() {
    const std::lock_guard lock(mutex_);
    return use_;
  }

 private:
  std::mutex mutex_;
  MemoryUse use_;
};
GpuUse& on_gpu = *new GpuUse;

}  // namespace

Buffer::Buffer(int64_t bytes, Device device) : bytes_(bytes), device_(device) {
  if (bytes <= 0) return;
  if (device.kind == DeviceKind::cpu) {
    data_ = pool().take(bytes);
  } else {
    data_ = cuda::allocate(bytes, device.index);
    on_gpu.add(bytes);
  }
}

Buffer::~Buffer() {
  if (!data_) return;
  if (device_.kind == DeviceKind::cpu) {
    pool().give(data_, bytes_);
  } else {
    cuda::release(data_, bytes_, device_.index);
    on_gpu.add(-bytes_);
  }
}

MemoryUse memory_use(DeviceKind kind) {
  return kind == DeviceKind::cpu ? pool().use() : on_gpu.use();
}

int64_t peak_resident_bytes() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<int64_t>(use.ru_maxrss) * 1024;
}

void reset_peak_memory() { pool().reset_peak(); }
void release_unused_memory() { pool().release(); }

}  // namespace skein
