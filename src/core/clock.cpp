#include "skein/core/clock.h"

#include <chrono>

namespace skein {
namespace {

template <class Clock>
double seconds_of() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace

double steady_seconds() { return seconds_of<std::chrono::steady_clock>(); }

double system_seconds() { return seconds_of<std::chrono::system_clock>(); }

}  // namespace skein
