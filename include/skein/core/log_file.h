// The log (core/log.h) beside its lines on stderr: in a file, and on a terminal with a line that
// tells how far a run has come.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace skein::log {

// As long as it lives, lines of the log are added to a file, each with its date; before them the
// last 256 of those that were told while there was no such file. One that cannot be opened is
// warned of. Where an exception ends it, the file takes what is logged until the next one is
// opened: the error is told after it.
class LogFile {
 public:
  explicit LogFile(const std::string& path);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  int exceptions_ = 0;  // under way when it was made
};

// On rank 0 where stderr is a terminal, else nothing: a line below the log's, written over by the
// next one, which is left out where the last is a moment old. "": none.
void show_status(std::string_view line);

}  // namespace skein::log
