#include "skein/core/last_moment.h"

#include <cstdlib>
#include <thread>
#include <utility>

namespace skein {

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

}  // namespace skein
