#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "solve.h"
#include "skein/data/encode.h"

namespace skein {

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
  const int64_t workers = std::min<int64_t>(worker_threads(threads), count);
  std::vector<std::thread> others;
  for (int64_t i = 1; i < workers; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace skein
