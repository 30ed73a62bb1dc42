// How far skein-data has come, on stderr.
#pragma once

#include <chrono>
#include <cstdio>
#include <unistd.h>

#include "skein/core/log.h"
#include "skein/data/files/progress.h"

namespace skein {

// A line that is written over on a terminal, and once in a while elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (shown_ && terminal_) std::fputs("\n", stderr);
  }

  void show(const CorpusProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (quiet_ ||
        now - last_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(10)))
      return;
    last_ = now;
    shown_ = true;
    if (terminal_)
      fmt::print(stderr, "\r{}\033[K", progress_line(progress));
    else
      log::info("{}", progress_line(progress));
  }

 private:
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace skein
