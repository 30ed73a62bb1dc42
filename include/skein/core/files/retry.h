// Storage that fails for a moment (a server that starts again, a path that is mounted anew) is
// asked again before a job ends for it. Only for steps that may be taken twice: looking and
// reading.
#pragma once

#include <chrono>
#include <type_traits>

#include "skein/core/files/files.h"

namespace skein {

// Waits before the attempt that follows number `attempt`, from 0. After the last one throws
// `error`, with how often and how long it was tried, and what to do; one that was thrown so before
// is passed on at once.
void wait_or_give_up(const SystemError& error, size_t attempt);

// What `step` returns, once it does not throw SystemError; other errors pass at once.
template <class Step>
std::invoke_result_t<const Step&> retried(const Step& step) {
  for (size_t attempt = 0;; ++attempt) {
    try {
      return step();
    } catch (const SystemError& error) {
      wait_or_give_up(error, attempt);
    }
  }
}

// What waits, which tests replace; returns the one before. Called by any thread.
using RetryWait = void (*)(std::chrono::milliseconds);
RetryWait set_retry_wait(RetryWait wait);

}  // namespace skein
