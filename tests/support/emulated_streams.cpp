#include "emulated_streams.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cuda_runtime.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "skein/tensor/cuda.h"

#include "emulated_device.h"

namespace skein::emulation {
namespace {

struct Streams {
  std::mutex mutex;
  std::vector<EmulatedStream*> all;  // in the order in which they were made
};
Streams& streams() {
  static Streams& instance = *new Streams;
  return instance;
}

struct Mode {
  std::atomic<bool> asynchronous = false;
  std::atomic<int> devices = 1;
  std::atomic<uint64_t> seed = 1;
} mode;

std::vector<EmulatedStream*> all_streams() {
  const std::lock_guard lock(streams().mutex);
  return streams().all;
}

}  // namespace

// Where streams work by themselves the host's own touches could not be told from theirs.
Asynchronous::Asynchronous(int devices, uint64_t seed) {
  mode.devices = devices;
  mode.seed = seed;
  mode.asynchronous = true;
  cuda::poison_freed(true);
}

Asynchronous::~Asynchronous() {
  cuda::poison_freed(false);
  for (EmulatedStream* stream : all_streams()) stream->stop();
  mode.asynchronous = false;
  mode.devices = 1;
}

int device_count() { return mode.devices; }

namespace {

// Kernels that run on each device.
struct Residents {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, int> on;
} residents;

class Resident {
 public:
  explicit Resident(int device) : device_(device) {
    std::unique_lock lock(residents.mutex);
    residents.changed.wait(lock, [&] { return residents.on[device] < Asynchronous::kResident; });
    ++residents.on[device];
  }
  ~Resident() {
    const std::lock_guard lock(residents.mutex);
    --residents.on[device_];
    residents.changed.notify_all();
  }
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

 private:
  int device_;
};

std::atomic<bool> driver_waits = false;

struct LoadedKernels {
  std::mutex mutex;
  std::set<std::pair<int, std::string>> all;
} loaded;

}  // namespace

WaitingDriver::WaitingDriver() {
  loaded.all.clear();
  driver_waits = true;
}
WaitingDriver::~WaitingDriver() { driver_waits = false; }

void wait_in_driver(int device) {
  if (!driver_waits || recording) return;
  for (EmulatedStream* stream : all_streams())
    if (stream->device() == device) stream->drain();
}

void load_kernel(int device, const std::string& name) {
  if (!driver_waits) return;
  {
    const std::lock_guard lock(loaded.mutex);
    if (!loaded.all.emplace(device, name).second) return;
  }
  wait_in_driver(device);
}

EmulatedStream& computation(int device) {
  for (EmulatedStream* stream : all_streams())
    if (stream->device() == device) return *stream;
  std::abort();
}

}  // namespace skein::emulation

using skein::emulation::mode;
using skein::emulation::streams;

EmulatedStream::EmulatedStream(int device) : device_(device) {
  const std::lock_guard lock(streams().mutex);
  streams().all.push_back(this);
}

EmulatedStream::~EmulatedStream() {
  stop();
  const std::lock_guard lock(streams().mutex);
  std::erase(streams().all, this);
}

void EmulatedStream::add(std::function<void()> work) {
  if (!mode.asynchronous) return work();
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  if (!thread_.joinable()) thread_ = std::thread([this, seed = mode.seed++] { run(seed); });
  changed_.notify_all();
}

void EmulatedStream::add_kernel(std::function<void()> work) {
  add([device = device_, work = std::move(work)] {
    const skein::emulation::Resident here(device);
    work();
  });
}

void EmulatedStream::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
}

void EmulatedStream::stop() {
  {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) return;
    changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
  thread_ = {};
  stopping_ = false;
}

// Now and then it is late.
void EmulatedStream::run(uint64_t seed) {
  std::mt19937_64 draw(seed);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto work = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    if (const uint64_t late = draw() % 8; late < 2)
      std::this_thread::sleep_for(std::chrono::microseconds(late * (draw() % 500)));
    work();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}
