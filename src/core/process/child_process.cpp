#include "skein/core/process/child_process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/process/program_run.h"

namespace skein {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPatience = 1, kGrace = 2;  // seconds
constexpr auto kLook = std::chrono::milliseconds(5);
constexpr double kBetweenLooks = 0.5;  // seconds
constexpr size_t kChunk = size_t{1} << 16;

std::string reason(int error) { return std::strerror(error); }

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("no pipe can be made: {}", reason(errno));
    read = ends[0], write = ends[1];
  }
  ~Pipe() {
    if (read >= 0) ::close(read);
    if (write >= 0) ::close(write);
  }
  Pipe(const Pipe&) = delete;
};

// Within its scope a pipe without a reader is an error of write() only.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigset_t pending;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoPipeSignal() {
    const timespec at_once{};
    while (!was_pending_ && sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_ = false;
};

void close_end(int& descriptor) {
  if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

int milliseconds_until(Clock::time_point end) {
  const double left = std::chrono::duration<double, std::milli>(end - Clock::now()).count();
  return static_cast<int>(std::clamp(std::ceil(left), 0.0, 1e6));
}

}  // namespace

ChildProcess::ChildProcess(const std::string& command) {
  Pipe to_child, from_child;
  pid_ = spawn({"/bin/sh", "-c", command}, {to_child.read, from_child.write});
  input_ = std::exchange(to_child.write, -1);
  output_ = std::exchange(from_child.read, -1);
  for (const int end : {input_, output_}) ::fcntl(end, F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  close_end(input_);
  if (!ended(kPatience)) stop();
  reap();
  close_pipes();
}

void ChildProcess::close_pipes() {
  close_end(input_);
  close_end(output_);
}

// It stays a zombie until reap(), so that its number, which is also its group's, is no other's.
bool ChildProcess::ended(double seconds) const {
  const auto end = after(seconds);
  while (pid_ >= 0) {
    siginfo_t info{};
    const int result = ::waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT);
    if (result == 0 && info.si_pid != 0) return true;
    if (result != 0 && errno != EINTR) return true;
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

void ChildProcess::stop() {
  if (pid_ < 0) return;
  close_pipes();
  ::kill(-pid_, SIGTERM);
  ended(kGrace);
  reap();
}

void ChildProcess::reap() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::string ChildProcess::ending(double seconds) const {
  siginfo_t info{};
  if (!ended(seconds) || pid_ < 0 || ::waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return "closed its output";
  if (info.si_code == CLD_EXITED) return fmt::format("ended with exit code {}", info.si_status);
  return fmt::format("was ended by signal {} ({})", info.si_status, strsignal(info.si_status));
}

void ChildProcess::write_some(std::string_view& rest) {
  const ssize_t written = ::write(input_, rest.data(), rest.size());
  if (written > 0) rest.remove_prefix(written);
  if (written >= 0 || errno == EAGAIN || errno == EINTR) return;
  if (errno != EPIPE) fail("the input of a process cannot be written: {}", reason(errno));
  close_end(input_);
}

// False at the end of its output.
bool ChildProcess::read_some() {
  const size_t before = unread_.size();
  unread_.resize(before + kChunk);
  const ssize_t got = ::read(output_, unread_.data() + before, kChunk);
  unread_.resize(before + std::max<ssize_t>(0, got));
  if (got < 0 && errno != EAGAIN && errno != EINTR)
    fail("the output of a process cannot be read: {}", reason(errno));
  return got != 0;
}

// whole: what has no line end counts as a line too. Lines behind the one that take() wanted last
// stay unread.
bool ChildProcess::take_lines(const std::function<bool(std::string_view line)>& take, bool whole) {
  size_t begin = 0;
  bool enough = false;
  while (!enough && begin < unread_.size()) {
    const size_t end = unread_.find('\n', begin);
    if (end == std::string::npos && !whole) break;
    enough =
        take(std::string_view(unread_).substr(begin, end == std::string::npos ? end : end - begin));
    begin = end == std::string::npos ? unread_.size() : end + 1;
  }
  unread_.erase(0, begin);
  return enough;
}

ChildProcess::Outcome ChildProcess::exchange(std::string_view text, double seconds,
                                             const std::function<bool(std::string_view line)>& take,
                                             const std::function<void()>& look) {
  const NoPipeSignal no_signal;
  const auto end = after(seconds);
  auto next_look = after(look ? kBetweenLooks : seconds);
  bool enough = false;
  while (!enough || !text.empty()) {
    const bool writing = !text.empty() && input_ >= 0;
    if (enough && !writing) break;
    pollfd ends[] = {{output_, POLLIN, 0}, {writing ? input_ : -1, POLLOUT, 0}};
    const int left = milliseconds_until(end);
    if (left == 0) return Outcome::late;
    if (::poll(ends, 2, std::min(left, milliseconds_until(next_look))) < 0 && errno != EINTR)
      fail("a process cannot be waited for: {}", reason(errno));
    if (look && Clock::now() >= next_look) {
      look();
      next_look = after(kBetweenLooks);
    }
    if (ends[1].revents != 0) write_some(text);
    const bool open = ends[0].revents == 0 || read_some();
    enough = take_lines(take, !open) || enough;
    if (!open && !enough) return Outcome::closed;
    if (unread_.size() > kLongestLine) return Outcome::endless;
    if (!open) break;
  }
  return Outcome::done;
}

}  // namespace skein
