// Looks after exchanges: one that does not end, or that fails by itself, ends the job with a
// message that says which it was. Those between devices, for which no host waits, it is told of;
// what a thread waits for itself it reads from that thread's recorder. It may end a job, too, whose
// thread neither exchanges nor computes: storage or a device keeps it.
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

#include "skein/comm/flight_recorder.h"
#include "skein/comm/roll_call.h"
#include "skein/core/error.h"
#include "skein/tensor/device.h"

namespace skein {

class Group;

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
  // Ends what is under way, so that nobody waits for it any longer; whoever queues something
  // afterwards gets an Error of this code, which is the job's.
  virtual void abort(ExitCode code) = 0;
};

class Watchdog {
 public:
  struct Settings {
    std::string speaker;  // who speaks: "rank 5 (host node3, GPU 1)"
    // Seconds. 0: exchanges may take for ever, failures are still reported. Below 0: as the host's
    // recorder has it for their phase.
    double timeout = 600;
    double allowance = 0;  // beside that
    // Whether the host's thread may be silent no longer than that either: outside of exchanges,
    // while this process computes nothing.
    bool silence = false;
    double interval = 0.25;  // seconds between looks; 0: no thread, somebody calls look()
    // seconds that each of the message, aborting and `end` may take before the job ends without it
    double abort_grace = 10;
    // Of the thread that exchanges through the host; may be null.
    std::shared_ptr<const FlightRecorder> host = nullptr;
    // Asks all ranks where they stand before the job ends; may be null. own: where this one does.
    std::shared_ptr<RollCall> roll = nullptr;
    std::function<Standing()> own = {};
    // Where each rank leaves the record of a standstill, rank 0 those of all; "": nowhere.
    std::string folder = {};
    // Ends the job; called once, after every watched thing was aborted.
    std::function<void(ExitCode code)> end;
    std::function<void(int code)> exit;  // where `end` does not return; empty: leaves the process
    std::function<void(const std::string& message)> say;  // empty: the log
    std::function<double()> clock;                        // seconds; empty: the steady clock
    std::function<double()> computed;  // processor seconds so far; empty: of this process
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
  // What the threads do at each interval. An exchange is late when it is not over so many seconds
  // after it began and no other of its WatchedWork, or of the recorder, has ended meanwhile.
  void look();
  const std::string& speaker() const { return settings_.speaker; }

 private:
  class LaneWatch;

  void repeat(const std::function<void()>& look);
  void ask();
  void judge();
  void hear();
  void inspect(LaneWatch& watch, double now);
  void judge(const BegunExchange& oldest, double waited);
  void judge_silence(double now);
  void end_standstill(const std::string& what);
  double limit_in(const char* phase) const;
  std::string advice() const;
  Standing own_standing() const;
  std::string leave_records();
  void end(ExitCode code, const std::string& message);

  Settings settings_;
  std::mutex asking_, judging_;
  std::vector<LaneWatch*> watches_;  // see watchdog.cpp
  bool ended_ = false;
  double looked_ = 0;                    // when judge() last did
  double awake_ = 0;                     // since when this process has not been stopped itself
  double computing_ = 0, computed_ = 0;  // when it last was found computing, and what it had then
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread asking_thread_, judging_thread_;
};

// "rank 5 (host node3, GPU 0000:3b:00.0)"
std::string speaker_of(Device device);

// A watchdog over the calling thread's exchanges, and those of its device, that ends the job of
// `world`, which must outlive it, after so many seconds (Settings::timeout). It calls abort() from
// a thread of its own. Collective. Null for a group of one.
std::shared_ptr<Watchdog> job_watchdog(Group& world, Device device, double timeout);
// The same over the calling thread's silence, too, also in a group of one, whose process it ends.
// folder: Settings::folder.
std::shared_ptr<Watchdog> run_watchdog(Group& world, Device device, double timeout,
                                       const std::string& folder);
// While rank 0 does something alone, which may take so many seconds beside the timeout, and the
// others wait: ranks 0 and 1 look, so that one speaks, and rank 1 only where rank 0 cannot. Null on
// other ranks.
std::shared_ptr<Watchdog> root_watchdog(Group& world, double timeout, double allowance);

}  // namespace skein
