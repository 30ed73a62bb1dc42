#include "skein/core/stop_signals.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <thread>
#include <utility>

#include "skein/core/error.h"

namespace skein {
namespace {

constexpr std::array kStops{SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
constexpr std::array kOfWrites{SIGPIPE, SIGXFSZ};

std::atomic<int> first{0};
static_assert(std::atomic<int>::is_always_lock_free);
sem_t come;

void on_signal(int number) {
  const int before = errno;
  int none = 0;
  first.compare_exchange_strong(none, number);
  ::sem_post(&come);
  errno = before;
}

class Handlers {
 public:
  Handlers() { ::sem_init(&come, 0, 0); }

  void enter() {
    const std::lock_guard lock(mutex_);
    if (lookers_++ > 0 || end_) return;
    first = 0;
    install();
  }

  void leave(bool failing) {
    const std::lock_guard lock(mutex_);
    if (--lookers_ > 0) return;
    if (end_) {
      if (failing) ignore_all();
      return;
    }
    for (size_t i = 0; i < kStops.size(); ++i) ::sigaction(kStops[i], &before_[i], nullptr);
    ignored_ = false;
  }

  void ignore() {
    const std::lock_guard lock(mutex_);
    if (lookers_ > 0 || end_) ignore_all();
  }

  void hold(EndBySignal end) {
    const std::lock_guard lock(mutex_);
    const bool held = end_ != nullptr;
    end_ = std::move(end);
    if (held && ignored_) handle();
    ignored_ = false;
    if (held) return;
    if (lookers_ == 0) install();
    for (const int number : kOfWrites) std::signal(number, SIG_IGN);
    std::thread([this] { watch(); }).detach();
  }

  std::vector<int> changed() {
    const std::lock_guard lock(mutex_);
    std::vector<int> all;
    if (lookers_ == 0 && !end_) return all;
    for (size_t i = 0; i < kStops.size(); ++i)
      if (!left_alone(i)) all.push_back(kStops[i]);
    if (end_) all.insert(all.end(), kOfWrites.begin(), kOfWrites.end());
    return all;
  }

 private:
  // A shell without job control starts what runs in the background with INT ignored, which nobody
  // has asked for.
  bool left_alone(size_t i) const {
    return kStops[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
  }

  void install() {
    for (size_t i = 0; i < kStops.size(); ++i) ::sigaction(kStops[i], nullptr, &before_[i]);
    handle();
  }

  void handle() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kStops.size(); ++i)
      if (!left_alone(i)) ::sigaction(kStops[i], &action, nullptr);
  }

  void ignore_all() {
    ignored_ = true;
    for (const int number : kStops) std::signal(number, SIG_IGN);
  }

  // Not what a handler may do: lock, look at files, tell peers.
  void watch() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    for (;;) {
      if (::sem_wait(&come) != 0) continue;
      // A run that begins or ends now waits here.
      const std::lock_guard lock(mutex_);
      if (lookers_ == 0 && !ignored_) end_(first);
    }
  }

  std::mutex mutex_;
  int lookers_ = 0;
  bool ignored_ = false;
  EndBySignal end_;
  std::array<struct sigaction, kStops.size()> before_{};
};

// The thread that watches may outlive what is destroyed at exit.
Handlers& handlers() {
  static auto& all = *new Handlers;
  return all;
}

}  // namespace

StopSignals::StopSignals() { handlers().enter(); }
StopSignals::~StopSignals() { handlers().leave(std::uncaught_exceptions() > 0); }

int stop_signal() { return first; }
void ignore_stop_signals() { handlers().ignore(); }

void catch_stop_signals(EndBySignal end) {
  SKEIN_CHECK(end != nullptr);
  handlers().hold(std::move(end));
}

std::vector<int> changed_signals() { return handlers().changed(); }

int code_without_commit(int signal) { return 128 + (signal == SIGINT ? SIGINT : SIGTERM); }

}  // namespace skein
