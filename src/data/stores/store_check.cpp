#include "skein/data/stores/store_check.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace skein::data {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLowestPriority = 19;
constexpr auto kRests = std::chrono::minutes(1);

// Linux has a priority for each thread; where it cannot be lowered the rests remain.
void take_lowest_priority() { setpriority(PRIO_PROCESS, gettid(), kLowestPriority); }

}  // namespace

struct StoreCheck::Impl {
  explicit Impl(std::vector<std::shared_ptr<const SummedFile>> all) : stores(std::move(all)) {
    thread = std::jthread([this](std::stop_token stop) { run(stop); });
  }

  void run(const std::stop_token& stop) {
    take_lowest_priority();
    std::exception_ptr found;
    try {
      compare(stop);
    } catch (...) {
      found = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    error = found;
    ended = true;
    changed.notify_all();
  }

  void compare(const std::stop_token& stop) const {
    auto last = Clock::now();
    for (const auto& store : stores) {
      if (stop.stop_requested()) return;
      store->verify_sum([&] {
        const bool on = rest(stop, Clock::now() - last);
        last = Clock::now();
        return on;
      });
    }
  }

  // False where it is to leave off.
  bool rest(const std::stop_token& stop, Clock::duration taken) const {
    std::unique_lock lock(mutex);
    if (Clock::now() - begun < kRests)
      changed.wait_for(lock, stop, taken, [this] { return hurried; });
    return !stop.stop_requested();
  }

  const std::vector<std::shared_ptr<const SummedFile>> stores;
  mutable std::mutex mutex;
  mutable std::condition_variable_any changed;
  const Clock::time_point begun = Clock::now();
  bool hurried = false, ended = false;
  std::exception_ptr error;
  std::jthread thread;  // last: joined before what it uses goes away
};

StoreCheck::StoreCheck(std::vector<std::shared_ptr<const SummedFile>> stores)
    : impl_(std::make_unique<Impl>(std::move(stores))) {}

StoreCheck::~StoreCheck() = default;

void StoreCheck::look() const {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->error) std::rethrow_exception(impl_->error);
}

bool StoreCheck::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(impl_->mutex);
  impl_->hurried = true;
  impl_->changed.notify_all();
  return impl_->changed.wait_for(lock, most, [this] { return impl_->ended; });
}

void StoreCheck::finish() {
  while (!wait(std::chrono::minutes(1))) {
  }
  look();
}

}  // namespace skein::data
