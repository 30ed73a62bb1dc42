// Streams of emulated devices: what is queued is done at once by whoever queues it, or, while an
// Asynchronous lives, by a thread of the stream.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

struct EmulatedStream {
 public:
  explicit EmulatedStream(int device);
  ~EmulatedStream();
  EmulatedStream(const EmulatedStream&) = delete;
  EmulatedStream& operator=(const EmulatedStream&) = delete;

  void add(std::function<void()> work);
  // A kernel: it waits for room on the device.
  void add_kernel(std::function<void()> work);
  // Returns once all that was queued is done.
  void drain();
  // Ends the stream's thread after that.
  void stop();
  int device() const { return device_; }

 private:
  void run(uint64_t seed);

  int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool busy_ = false, stopping_ = false;
  std::thread thread_;
};

// Has come to pass when its stream has come so far as at its last record. Queued work may outlive
// it.
struct EmulatedEvent {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int64_t recorded = 0, passed = 0;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};

namespace skein::emulation {

// The first stream that was made on a device: that of all computation.
EmulatedStream& computation(int device);

}  // namespace skein::emulation
