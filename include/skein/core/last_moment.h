// The end of a process whose threads may be anywhere: without destructors, and also where its
// storage or the reader of its log hangs.
#pragma once

#include <chrono>
#include <functional>

namespace skein {

// Calls `end`, which is to end the process, after `most` on a thread of its own. Nothing where
// there can be no more threads.
void end_anyway(std::chrono::milliseconds most, std::function<void()> end) noexcept;
// Ends with `code`.
void end_anyway(std::chrono::milliseconds most, int code) noexcept;

// What the process has to take away before it ends at the word of another one, such as a rank that
// ends the job; it may take a second. One for the process, set before there are ranks.
void take_away_at_end(void (*take_away)() noexcept);
// Does it, where it is set.
void take_away_what_is_left() noexcept;

}  // namespace skein
