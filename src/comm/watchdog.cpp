// Invariants.
//
// Two threads: one asks the devices what has ended and what has failed, the other looks at the
// clock and ends the job. Only the first calls what a device's library may keep waiting, for that
// is the case in which the second is needed; nor does the second wait for the log, or for the end
// that it was given, longer than abort_grace.
//
// watches_ changes under both locks and is read under either. A watch that goes waits for a
// question about it that is under way: if that never returns, the second thread ends the job
// meanwhile.
#include "skein/comm/watchdog.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <optional>
#include <unistd.h>

#include "skein/core/log.h"

namespace skein {
namespace {

std::string size_text(int64_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MiB", bytes * 0x1p-20);
  if (bytes >= 1 << 10) return fmt::format("{:.1f} KiB", bytes * 0x1p-10);
  return fmt::format("{} bytes", bytes);
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Ticket {
  Exchange exchange;
  int64_t mark = 0;
  double begun = 0;
  Where where;
  char part[32];  // a copy: the model may be gone when somebody asks

  std::string str() const {
    Where then = where;
    then.part = part;
    return fmt::format("{} ({})", exchange.str(), then.str());
  }
};

// A ring of tickets that grows to what is needed once.
class Lane {
 public:
  bool empty() const { return count_ == 0; }
  const Ticket& front() const { return ring_[first_]; }
  void drop() {
    first_ = (first_ + 1) % ring_.size();
    --count_;
  }
  Ticket& add() {
    if (count_ == ring_.size()) {
      std::rotate(ring_.begin(), ring_.begin() + first_, ring_.end());
      first_ = 0;
      ring_.resize(std::max<size_t>(64, 2 * count_));
    }
    return ring_[(first_ + count_++) % ring_.size()];
  }

 private:
  std::vector<Ticket> ring_;
  size_t first_ = 0, count_ = 0;
};

}  // namespace

std::string Exchange::str() const {
  if (peer < 0) return fmt::format("{} of {} in the {} group", what, size_text(bytes), group);
  return fmt::format("{} of {} {} rank {} of the {} group", what, size_text(bytes),
                     outgoing ? "to" : "from", peer, group);
}

class Watchdog::LaneWatch : public Watchdog::Watch {
 public:
  LaneWatch(Watchdog& dog, WatchedWork& watched, int lanes)
      : dog_(dog), watched_(watched), lanes_(lanes) {
    const std::scoped_lock both(dog_.asking_, dog_.judging_);
    dog_.watches_.push_back(this);
  }
  ~LaneWatch() override {
    const std::scoped_lock both(dog_.asking_, dog_.judging_);
    std::erase(dog_.watches_, this);
  }

  void begin(int lane, const Exchange& exchange, int64_t mark) override {
    const double now = dog_.settings_.clock();
    const std::lock_guard lock(mutex_);
    Ticket& ticket = lanes_[lane].add();
    ticket.exchange = exchange;
    ticket.mark = mark;
    ticket.begun = now;
    ticket.where = skein::where();
    std::strncpy(ticket.part, ticket.where.part, sizeof(ticket.part) - 1);
    ticket.part[sizeof(ticket.part) - 1] = '\0';
  }

  // The lock is not held while the device is asked, so begin() does not wait for that.
  void drop_ended(double now) {
    for (Lane& lane : lanes_)
      while (const auto ticket = front(lane)) {
        if (!watched_.passed(ticket->mark)) break;
        progress_ = now;
        const std::lock_guard lock(mutex_);
        lane.drop();
      }
  }
  std::optional<Ticket> oldest() {
    std::optional<Ticket> found;
    for (const Lane& lane : lanes_) {
      const auto ticket = front(lane);
      if (ticket && (!found || ticket->begun < found->begun)) found = ticket;
    }
    return found;
  }
  void take_error() {
    std::string found = watched_.error();
    const std::lock_guard lock(mutex_);
    if (error_.empty()) error_ = std::move(found);
  }
  std::string error() {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  double progress() const { return progress_; }
  WatchedWork& watched() { return watched_; }

 private:
  std::optional<Ticket> front(const Lane& lane) {
    const std::lock_guard lock(mutex_);
    return lane.empty() ? std::nullopt : std::optional(lane.front());
  }

  Watchdog& dog_;
  WatchedWork& watched_;
  std::mutex mutex_;
  std::vector<Lane> lanes_;
  std::string error_;                 // the first that came
  std::atomic<double> progress_ = 0;  // when an exchange last ended
};

// Whether `work` is over within so many seconds. It runs on a thread of its own, for it may hang:
// in a library that has lost its peers, or behind a lock of a thread that stands still.
bool within(double seconds, std::function<void()> work) {
  const auto done = std::make_shared<std::promise<void>>();
  auto over = done->get_future();
  std::thread([done, work = std::move(work)] {
    work();
    done->set_value();
  }).detach();
  return over.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
}

Watchdog::Watchdog(Settings settings) : settings_(std::move(settings)) {
  if (!settings_.clock) settings_.clock = steady_seconds;
  if (!settings_.say)
    settings_.say = [](const std::string& message) { log::write(log::Level::error, message); };
  if (!settings_.exit) settings_.exit = [](int code) { std::_Exit(code); };
  if (settings_.interval == 0) return;
  asking_thread_ = std::thread([this] { repeat([this] { ask(); }); });
  judging_thread_ = std::thread([this] { repeat([this] { judge(); }); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (asking_thread_.joinable()) asking_thread_.join();
  if (judging_thread_.joinable()) judging_thread_.join();
}

std::unique_ptr<Watchdog::Watch> Watchdog::watch(WatchedWork& watched, int lanes) {
  return std::make_unique<LaneWatch>(*this, watched, lanes);
}

void Watchdog::repeat(const std::function<void()>& look) {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> interval(settings_.interval);
  while (!wake_.wait_for(lock, interval, [this] { return stopping_; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

void Watchdog::look() {
  ask();
  judge();
}

// May stand still in the device's library for as long as another thread does.
void Watchdog::ask() {
  const std::lock_guard asking(asking_);
  const double now = settings_.clock();
  for (LaneWatch* watch : watches_) {
    watch->drop_ended(now);
    watch->take_error();
  }
}

void Watchdog::judge() {
  const std::lock_guard judging(judging_);
  const double now = settings_.clock();
  for (size_t i = 0; i < watches_.size() && !ended_; ++i) inspect(*watches_[i], now);
}

void Watchdog::inspect(LaneWatch& watch, double now) {
  const auto oldest = watch.oldest();
  if (const std::string error = watch.error(); !error.empty()) {
    return end(ExitCode::failure,
               fmt::format("{}: {}. {}Another rank may have ended: look for the first error of the "
                           "job, then start it again; it resumes from its last checkpoint",
                           settings_.speaker, error,
                           oldest ? fmt::format("Under way was {}. ", oldest->str()) : ""));
  }
  if (!oldest || settings_.timeout == 0) return;
  const double waited = now - std::max(oldest->begun, watch.progress());
  if (waited <= settings_.timeout) return;
  end(ExitCode::watchdog,
      fmt::format("{} has waited {:.0f} s for {}. A rank of that group stands still or has ended: "
                  "look for the first error of the job and at the hosts of its other ranks, then "
                  "start it again; it resumes from its last checkpoint. Where exchanges may take "
                  "longer, raise parallel.timeout={:g}",
                  settings_.speaker, waited, oldest->str(), settings_.timeout));
}

void Watchdog::end(ExitCode code, const std::string& message) {
  ended_ = true;
  if (!within(settings_.abort_grace, [say = settings_.say, message] { say(message); }))
    dprintf(STDERR_FILENO, "%s\n", message.c_str());
  within(settings_.abort_grace, [watches = watches_] {
    for (LaneWatch* watch : watches) watch->watched().abort();
  });
  if (settings_.end && !within(settings_.abort_grace, [end = settings_.end, code] { end(code); }))
    settings_.exit(static_cast<int>(code));
}

}  // namespace skein
