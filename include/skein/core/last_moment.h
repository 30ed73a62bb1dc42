// The end of a process whose threads may be anywhere: without destructors, and also where its
// storage or the reader of its log hangs.
#pragma once

#include <chrono>
#include <functional>

namespace skein {

// Calls `end`, which is to end the process, after `most` on a thread of its own. Nothing where there
// can be no more threads.
void end_anyway(std::chrono::milliseconds most, std::function<void()> end) noexcept;
// Ends with `code`.
void end_anyway(std::chrono::milliseconds most, int code) noexcept;

}  // namespace skein
