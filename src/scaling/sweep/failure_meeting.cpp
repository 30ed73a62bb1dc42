#include "failure_meeting.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/log.h"

namespace skein::scaling::sweep {
namespace {

// Calls `late` then, unless the thread has gone before.
std::jthread deadline(std::chrono::milliseconds patience, std::function<void()> late) {
  return std::jthread([patience, late = std::move(late)](const std::stop_token& over) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    wake.wait_for(lock, over, patience, [] { return false; });
    if (!over.stop_requested()) late();
  });
}

std::string told(const std::vector<std::string>& failures) {
  const auto first =
      std::ranges::find_if(failures, [](const std::string& failure) { return !failure.empty(); });
  if (first == failures.end()) return "";
  if (std::ranges::count(failures, *first) == std::ssize(failures)) return *first;
  return fmt::format("rank {} of {}: {}", first - failures.begin(), failures.size(), *first);
}

}  // namespace

FailureMeeting::FailureMeeting(Group& trainer) : group_(trainer.split(0, trainer.rank())) {}

std::string FailureMeeting::gathered(const std::string& own) const {
  return told(group_->all_gather(own));
}

std::string FailureMeeting::outcome(const std::string& own, std::chrono::milliseconds patience,
                                    const std::function<std::string()>& alone) const {
  if (own.empty() || group_->size() == 1) return gathered(own);
  std::string last_words;
  try {
    const std::jthread waiting = deadline(patience, [&] {
      last_words = alone();
      log::write(log::Level::error, last_words);
      group_->abort(static_cast<int>(ExitCode::failure));
    });
    return gathered(own);
  } catch (...) {
    if (last_words.empty()) throw;
  }
  fail("{}", last_words);
}

}  // namespace skein::scaling::sweep
