// How far a program has come, on stderr.
#pragma once

#include <chrono>
#include <cstdio>
#include <unistd.h>

#include "skein/core/log.h"

namespace skein {

// A line that is written over on a terminal, and once in a while elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet = false) : quiet_(quiet) {}
  ~ProgressLine() {
    if (shown_ && terminal_) std::fputs("\n", stderr);
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
      fmt::print(stderr, "\r{}\033[K", text());
    else
      log::info("{}", text());
  }

 private:
  bool quiet_;
  bool terminal_ = isatty(STDERR_FILENO) != 0, shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace skein
