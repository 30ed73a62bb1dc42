#include "background.h"

#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace skein::checkpoint {
namespace {

constexpr int kLowestPriority = 19;

}  // namespace

BackgroundWork::~BackgroundWork() {
  if (thread_.joinable()) thread_.join();
}

void BackgroundWork::begin(std::function<void()> work, bool beside) {
  finish();
  done_ = false;
  if (!beside) return run(work);
  thread_ = std::thread([this, work = std::move(work)] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowestPriority);
    run(work);
  });
}

void BackgroundWork::run(const std::function<void()>& work) noexcept {
  try {
    work();
  } catch (...) {
    error_ = std::current_exception();
  }
  done_ = true;
}

void BackgroundWork::finish() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace skein::checkpoint
