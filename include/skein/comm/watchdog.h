// Looks after exchanges between devices, for which no host waits: one that does not end, or that
// fails by itself, ends the job with a message that says which it was.
//
//   auto watchdog = std::make_shared<Watchdog>(settings);
//   const auto watch = watchdog->watch(queue, 1);
//   watch->begin(0, {"all-reduce", "tensor", bytes}, queue.mark(0));
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/where.h"

namespace skein {

// What runs exchanges. All of its functions are called from threads of the watchdog, and must not
// throw. Where passed or error stand still, what is under way is late all the same.
class WatchedWork {
 public:
  virtual ~WatchedWork() = default;
  // Whether all that was queued before the mark has run. Once it is true the mark is over and its
  // number may be given to another.
  virtual bool passed(int64_t mark) = 0;
  // A failure that came by itself; "" when there is none.
  virtual std::string error() = 0;
  // Ends what is under way, so that nobody waits for it any longer; nothing can be queued
  // afterwards.
  virtual void abort() = 0;
};

// Both names are literals.
struct Exchange {
  const char* what = "";   // "all-reduce"
  const char* group = "";  // "tensor"
  int64_t bytes = 0;
  int peer = -1;          // the other rank of the group; -1: all of them
  bool outgoing = false;  // to the peer, not from it

  // "all-reduce of 4.0 MiB in the tensor group", "send of 512 bytes to rank 2 of the pipeline
  // group"
  std::string str() const;
};

class Watchdog {
 public:
  struct Settings {
    std::string speaker;     // who speaks: "rank 5 (host node3, GPU 1)"
    double timeout = 600;    // seconds; 0: exchanges may take for ever, failures are still reported
    double interval = 0.25;  // seconds between looks; 0: no thread, somebody calls look()
    // seconds that each of the message, aborting and `end` may take before the job ends without it
    double abort_grace = 10;
    // Ends the job; called once, after every watched thing was aborted.
    std::function<void(ExitCode code)> end;
    std::function<void(int code)> exit;  // where `end` does not return; empty: leaves the process
    std::function<void(const std::string& message)> say;  // empty: the log
    std::function<double()> clock;                        // seconds; empty: the steady clock
  };

  // The exchanges of one WatchedWork, in lanes: the exchanges of a lane end in the order in which
  // they began. All are forgotten when the Watch goes.
  class Watch {
   public:
    virtual ~Watch() = default;
    // Tells of an exchange that was just queued before `mark`, at the calling thread's where().
    // Takes memory only while more exchanges are under way in the lane than ever before.
    virtual void begin(int lane, const Exchange& exchange, int64_t mark) = 0;
  };

  explicit Watchdog(Settings settings);
  // Returns at once, whatever is under way. Its watches must be gone.
  ~Watchdog();

  std::unique_ptr<Watch> watch(WatchedWork& watched, int lanes);
  // What the threads do at each interval. An exchange is late when it is not over `timeout` seconds
  // after it began and no other of its WatchedWork has ended meanwhile.
  void look();
  const std::string& speaker() const { return settings_.speaker; }

 private:
  class LaneWatch;

  void repeat(const std::function<void()>& look);
  void ask();
  void judge();
  void inspect(LaneWatch& watch, double now);
  void end(ExitCode code, const std::string& message);

  Settings settings_;
  std::mutex asking_, judging_;
  std::vector<LaneWatch*> watches_;  // see watchdog.cpp
  bool ended_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread asking_thread_, judging_thread_;
};

}  // namespace skein
