// Work beside the thread that trains, which looks now and then whether it is done.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

namespace skein::checkpoint {

class BackgroundWork {
 public:
  BackgroundWork() = default;
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // beside: on a thread of lowest priority; else here, at once. What was begun before is finished.
  void begin(std::function<void()> work, bool beside);
  // True where nothing was begun.
  bool done() const { return done_; }
  // Waits for it and throws what it has thrown.
  void finish();

 private:
  void run(const std::function<void()>& work) noexcept;

  std::atomic<bool> done_ = true;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace skein::checkpoint
