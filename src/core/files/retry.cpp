#include "skein/core/files/retry.h"

#include <atomic>
#include <iterator>
#include <thread>

#include "skein/core/log.h"

namespace skein {
namespace {

// Before the second attempt, the third and the fourth.
constexpr std::chrono::milliseconds kRetryWaits[] = {std::chrono::milliseconds(500),
                                                     std::chrono::milliseconds(2500),
                                                     std::chrono::milliseconds(6000)};

void sleep(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

std::atomic<RetryWait> waiting{sleep};

double seconds(std::chrono::milliseconds time) { return time.count() / 1000.0; }

double seconds_in_all() {
  std::chrono::milliseconds all{0};
  for (const auto wait : kRetryWaits) all += wait;
  return seconds(all);
}

}  // namespace

void wait_or_give_up(const SystemError& error, size_t attempt) {
  if (error.given_up()) throw error;
  if (attempt >= std::size(kRetryWaits))
    throw SystemError(
        error.number(),
        fmt::format("{}; {} more attempts within {} seconds failed, too. See whether that storage "
                    "is mounted, healthy and open to this user, then start again",
                    error.what(), std::size(kRetryWaits), seconds_in_all()),
        true);
  log::warn("{}; tried again in {} seconds", error.what(), seconds(kRetryWaits[attempt]));
  waiting.load()(kRetryWaits[attempt]);
}

RetryWait set_retry_wait(RetryWait wait) { return waiting.exchange(wait); }

}  // namespace skein
