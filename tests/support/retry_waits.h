// Retries without their seconds.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "skein/core/files/retry.h"

namespace skein {

// While it lives, waits between attempts end at once, are counted, and `between` is called in each:
// where the storage may get well again. One at a time.
class RetryWaits {
 public:
  explicit RetryWaits(std::function<void()> between = {}) {
    waited().clear();
    action() = std::move(between);
    before_ = set_retry_wait([](std::chrono::milliseconds time) {
      waited().push_back(time);
      if (action()) action()();
    });
  }
  ~RetryWaits() { set_retry_wait(before_); }
  RetryWaits(const RetryWaits&) = delete;
  RetryWaits& operator=(const RetryWaits&) = delete;

  size_t count() const { return waited().size(); }
  std::chrono::milliseconds in_all() const {
    std::chrono::milliseconds all{0};
    for (const auto time : waited()) all += time;
    return all;
  }

 private:
  static std::vector<std::chrono::milliseconds>& waited() {
    static std::vector<std::chrono::milliseconds> all;
    return all;
  }
  static std::function<void()>& action() {
    static std::function<void()> made;
    return made;
  }
  RetryWait before_;
};

}  // namespace skein
