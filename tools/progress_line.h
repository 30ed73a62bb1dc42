// How far a program has come, on stderr.
#pragma once

#include <chrono>
#include <unistd.h>

#include "skein/core/log.h"
#include "skein/core/log_file.h"

namespace skein {

// The status of the log on a terminal, and a line of it once in a while elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet = false) : quiet_(quiet) {}
  ~ProgressLine() {
    if (shown_ && terminal_) log::show_status("");
  }

  // What text() returns, if it is time for it.
  template <class Text>
  void show(const Text& text) {
    const auto now = std::chrono::steady_clock::now();
    if (quiet_ ||
        now - last_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(10)))
      return;
    last_ = now;
    shown_ = true;
    if (terminal_)
      log::show_status(text());
    else
      log::info("{}", text());
  }

 private:
  bool quiet_;
  bool terminal_ = isatty(STDERR_FILENO) != 0, shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace skein
