// A program that lines are exchanged with through pipes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace skein {

class ChildProcess {
 public:
  // Starts /bin/sh -c command in a process group of its own; stderr is ours. Error(failure) when
  // that cannot be.
  explicit ChildProcess(const std::string& command);
  // Closes its input and gives it a second to end; then ends it and its group, by TERM and two
  // seconds later by KILL.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  enum class Outcome { done, closed, late, endless };

  // Writes `text` and reads lines at the same time, so that neither side waits for the other, until
  // all is written and take(line) has returned true: done. closed: it ended its output before.
  // late: `seconds` have passed. endless: a line is longer than kLongestLine. What take throws
  // passes through. A child that ends never takes us with it by SIGPIPE. look is called twice a
  // second while that takes, and what it throws passes through, too.
  Outcome exchange(std::string_view text, double seconds,
                   const std::function<bool(std::string_view line)>& take,
                   const std::function<void()>& look = {});
  static constexpr size_t kLongestLine = size_t{1} << 20;

  // What it has written and no line was made of yet.
  const std::string& unread() const { return unread_; }
  // "ended with exit code 3", "was ended by signal 9 (Killed)", or, where it has not ended after
  // `seconds`, "closed its output".
  std::string ending(double seconds) const;
  // Ends it at once, by TERM and two seconds later by KILL.
  void stop();

 private:
  bool ended(double seconds) const;
  void reap();
  void close_pipes();
  void write_some(std::string_view& rest);
  bool read_some();
  bool take_lines(const std::function<bool(std::string_view line)>& take, bool whole);

  pid_t pid_ = -1;
  int input_ = -1, output_ = -1;  // our ends
  std::string unread_;
};

}  // namespace skein
