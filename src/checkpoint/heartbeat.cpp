#include "skein/checkpoint/heartbeat.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <mutex>
#include <pthread.h>
#include <sstream>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/host.h"
#include "skein/core/log.h"

namespace skein::checkpoint {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Containers share the start of the system, but not always the numbers of processes.
std::string own_space() {
  std::array<char, 64> numbers{};
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  if (boot.empty() || ::readlink("/proc/self/ns/pid", numbers.data(), numbers.size() - 1) < 0)
    return "";
  return boot + " " + numbers.data();
}

struct ProcessState {
  char state = 0;  // 0: nothing is known of such a process
  int64_t started = 0;
};

// Fields 3 and 22 of /proc/N/stat. The second is a name in brackets, which may hold blanks and
// brackets itself.
ProcessState state_of(const std::string& process) {
  const std::string line = first_line("/proc/" + process + "/stat");
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  ProcessState found;
  fields >> found.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  return fields >> found.started ? found : ProcessState{};
}

// A signal must wake the thread that computes: only what this thread does wrong itself comes to it.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

ProcessIdentity own_identity() {
  return {host_name(), own_space(), ::getpid(), state_of("self").started};
}

Life life_of(const ProcessIdentity& process) {
  const std::string here = own_space();
  if (here.empty() || process.space != here || process.started <= 0) return Life::unknown;
  const ProcessState now = state_of(std::to_string(process.process));
  // It may be there and hidden from this user (the option hidepid of /proc).
  if (now.state == 0) {
    const bool none = ::kill(static_cast<pid_t>(process.process), 0) != 0 && errno == ESRCH;
    return none ? Life::dead : Life::unknown;
  }
  // Z and X: it has ended and only its parent has not asked yet.
  const bool runs = now.state != 'Z' && now.state != 'X';
  return runs && now.started == process.started ? Life::alive : Life::dead;
}

struct Heartbeat::Impl {
  std::string path, about;
  std::chrono::milliseconds renewal;
  int64_t beats = 0;
  bool told = false, over = false;
  std::mutex mutex;
  std::condition_variable wake;
  std::thread thread;

  // Of one length, so that no renewal needs new space.
  std::string text() const { return fmt::format("{}\nbeat {:012}\n", about, beats); }

  // False when the file is gone: a newer start has taken the run over.
  bool beat() {
    ++beats;
    const std::string now = text();
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return false;
    const bool written = fd >= 0 && ::pwrite(fd, now.data(), now.size(), 0) == std::ssize(now);
    const int error = errno;
    if (fd >= 0) ::close(fd);  // which is what other hosts see it by
    if (!written && !told)
      log::warn("{} cannot be renewed: {}; another start would take this run for dead", path,
                std::generic_category().message(error));
    told = told || !written;
    return true;
  }

  void run() {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, renewal, [this] { return over; })) {
      lock.unlock();
      const bool there = beat();
      lock.lock();
      if (!there) return;
    }
  }
};

Heartbeat::Heartbeat(const std::string& path, const std::string& about,
                     std::chrono::milliseconds renewal)
    : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->about = about;
  impl_->renewal = renewal;
  write_new_file(path, impl_->text());
  const NoSignals none;
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->over = true;
  }
  impl_->wake.notify_all();
  impl_->thread.join();
  ::unlink(impl_->path.c_str());
}

std::optional<std::string> heartbeat_at(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0 && errno == ENOENT) return std::nullopt;
  if (fd < 0) return "";
  std::array<char, 1024> text{};
  const ssize_t bytes = ::read(fd, text.data(), text.size());
  ::close(fd);
  return std::string(text.data(), std::max<ssize_t>(bytes, 0));
}

}  // namespace skein::checkpoint
