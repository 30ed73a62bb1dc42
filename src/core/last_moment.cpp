#include "skein/core/last_moment.h"

#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

namespace skein {
namespace {

std::atomic<void (*)() noexcept> left{nullptr};

}  // namespace

void end_anyway(std::chrono::milliseconds most, std::function<void()> end) noexcept {
  try {
    std::thread([most, end = std::move(end)] {
      std::this_thread::sleep_for(most);
      end();
    }).detach();
  } catch (...) {
    return;  // then it ends by what it does next
  }
}

void end_anyway(std::chrono::milliseconds most, int code) noexcept {
  end_anyway(most, [code] { std::_Exit(code); });
}

void take_away_at_end(void (*take_away)() noexcept) { left = take_away; }

void take_away_what_is_left() noexcept {
  if (const auto take_away = left.load()) take_away();
}

}  // namespace skein
