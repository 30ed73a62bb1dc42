#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "skein/core/error.h"
#include "skein/kernels/threads.h"

#include "solve.h"

namespace skein::scaling::fit {

void in_parallel(int64_t count, int threads, const std::function<void(int64_t)>& body) {
  std::atomic<int64_t> next{0};
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (int64_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
      next = count;
    }
  };
  require(threads >= 0 && threads <= 1024, "fit.threads={} must lie between 0 (all) and 1024",
          threads);
  const int64_t workers = std::min<int64_t>(threads > 0 ? threads : kernels::threads(), count);
  std::vector<std::thread> others;
  for (int64_t i = 1; i < workers; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace skein::scaling::fit
