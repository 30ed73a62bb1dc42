// Invariants.
//
// Two threads: one asks the devices what has ended and what has failed, the other looks at the
// clock and ends the job. Only the first calls what a device's library may keep waiting, for that
// is the case in which the second is needed; nor does the second wait for the log, or for the end
// that it was given, longer than abort_grace.
//
// watches_ changes under both locks and is read under either. A watch that goes waits for a
// question about it that is under way: if that never returns, the second thread ends the job
// meanwhile. The recorder of the host's exchanges has no lock at all.
#include "skein/comm/watchdog.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <unistd.h>

#include "skein/core/clock.h"
#include "skein/core/log.h"

namespace skein {
namespace {

struct Ticket : BegunExchange {
  int64_t mark = 0;
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
    lanes_[lane].add() = {BegunExchange::here(exchange, now), mark};
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

namespace {

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

bool leave_record(const std::string& folder, const std::string& name, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::ofstream file(std::filesystem::path(folder) / name);
  file << text << std::flush;
  return file.good();
}

double process_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace

Watchdog::Watchdog(Settings settings) : settings_(std::move(settings)) {
  if (!settings_.clock) settings_.clock = steady_seconds;
  if (!settings_.computed) settings_.computed = process_seconds;
  if (!settings_.say)
    settings_.say = [](const std::string& message) { log::write(log::Level::error, message); };
  if (!settings_.exit) settings_.exit = [](int code) { std::_Exit(code); };
  computing_ = settings_.clock();
  computed_ = settings_.computed();
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
  // Nothing is late for a time in which this process was stopped itself.
  if (settings_.interval > 0 && looked_ > 0 && now - looked_ > 1 + 4 * settings_.interval)
    awake_ = now;
  looked_ = now;
  hear();
  for (size_t i = 0; i < watches_.size() && !ended_; ++i) inspect(*watches_[i], now);
  const auto waiting = settings_.host && !ended_ ? settings_.host->under_way() : std::nullopt;
  if (waiting)
    judge(*waiting, now - waiting->begun);
  else if (settings_.silence && !ended_)
    judge_silence(now);
}

// Before anything is judged: another rank may have ended the job while this one was stopped.
void Watchdog::hear() {
  if (ended_ || !settings_.roll) return;
  switch (settings_.roll->listen([this] { return own_standing(); })) {
    case RollCall::Heard::late: return end_standstill("");
    case RollCall::Heard::over: return end(ExitCode::watchdog, "");
    case RollCall::Heard::nothing: return;
  }
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
  if (oldest) judge(*oldest, now - std::max(oldest->begun, watch.progress()));
}

void Watchdog::judge(const BegunExchange& oldest, double waited) {
  waited = std::min(waited, settings_.clock() - awake_);
  if (settings_.timeout == 0 || waited <= limit_in(oldest.where.phase)) return;
  end_standstill(
      fmt::format("{} has waited {:.0f} s for {}. A rank of that group stands still or "
                  "has ended: look for the first error of the job and at the hosts of "
                  "its other ranks",
                  settings_.speaker, waited, oldest.str()));
}

// What computes will come to its next exchange. Other threads of the process count, too: one may
// write a checkpoint for which this one waits.
void Watchdog::judge_silence(double now) {
  constexpr double kIdleShare = 0.01,
                   kIdleSeconds = 0.05;  // what this process takes to stand still
  const double computed = settings_.computed();
  if (computed - computed_ > kIdleShare * (now - computing_) + kIdleSeconds) {
    computing_ = now;
    computed_ = computed;
  }
  const char* phase = settings_.host->phase();
  const double silent = now - std::max({settings_.host->last_sign(), computing_, awake_});
  if (settings_.timeout == 0 || silent <= limit_in(phase)) return;
  end_standstill(
      fmt::format("{} has exchanged and computed nothing for {:.0f} s{}: its storage or "
                  "a device may not answer. Look at them",
                  settings_.speaker, silent, *phase ? fmt::format(" ({})", phase) : ""));
}

double Watchdog::limit_in(const char* phase) const {
  if (settings_.timeout >= 0) return settings_.timeout + settings_.allowance;
  return settings_.allowance +
         (settings_.host ? settings_.host->limit(phase) : FlightRecorder::kFirstLimit);
}

std::string Watchdog::advice() const {
  if (settings_.timeout >= 0) return fmt::format("raise parallel.timeout={:g}", settings_.timeout);
  return "set parallel.timeout; without it they may take three times as long as the slowest phase "
         "of their kind so far, 60 seconds at least";
}

// Is asked for at a standstill only.
Standing Watchdog::own_standing() const {
  Standing own = settings_.own();
  if (!settings_.folder.empty())
    within(settings_.abort_grace, [folder = settings_.folder, own] {
      leave_record(folder, fmt::format("rank-{:05}.txt", own.rank), record_of(own));
    });
  return own;
}

// Where they are; "" where there are none.
std::string Watchdog::leave_records() {
  const std::string records = settings_.roll->records();
  if (settings_.folder.empty() || records.empty()) return "";
  const auto left = std::make_shared<std::atomic<bool>>(false);
  within(settings_.abort_grace, [folder = settings_.folder, records, left] {
    *left = leave_record(folder, "all-ranks.txt", records);
  });
  return *left ? fmt::format(". What each rank exchanged last is in {}", settings_.folder) : "";
}

// what: what this rank can say alone.
void Watchdog::end_standstill(const std::string& what) {
  ended_ = true;  // whatever comes while the ranks are asked
  std::string message = what;
  if (settings_.roll) {
    const std::string verdict = settings_.roll->call([this] { return own_standing(); });
    message =
        verdict.empty() ? "" : fmt::format("{}: {}{}", settings_.speaker, verdict, leave_records());
  }
  if (!message.empty())
    message += fmt::format(
        ". Then start the job again; it resumes from its last checkpoint. Where exchanges may take "
        "longer, {}",
        advice());
  end(ExitCode::watchdog, message);
}

void Watchdog::end(ExitCode code, const std::string& message) {
  ended_ = true;
  if (!message.empty() &&
      !within(settings_.abort_grace, [say = settings_.say, message] { say(message); }))
    dprintf(STDERR_FILENO, "%s\n", message.c_str());
  if (!message.empty() && code == ExitCode::watchdog && settings_.roll) settings_.roll->dismiss();
  within(settings_.abort_grace, [watches = watches_, code] {
    for (LaneWatch* watch : watches) watch->watched().abort(code);
  });
  if (settings_.end && !within(settings_.abort_grace, [end = settings_.end, code] { end(code); }))
    settings_.exit(static_cast<int>(code));
}

}  // namespace skein
