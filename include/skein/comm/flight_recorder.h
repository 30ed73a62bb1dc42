// What a rank does and exchanges through the host, kept for a watchdog. The thread that does it
// writes it and another one reads it; neither waits for the other, so what stands still is told all
// the same.
//
//   const InFlight here({"all-reduce", "data", bytes}, turn);   // until the end of the scope
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/where.h"

namespace skein {

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

// An exchange that has begun, where the thread that began it then was.
struct BegunExchange {
  Exchange exchange;
  Where where;         // its part is empty
  char part[32] = "";  // and here: the model may be gone when somebody asks
  double begun = 0;    // seconds

  static BegunExchange here(const Exchange& exchange, double now);
  // "all-reduce of 4.0 MiB in the data group (step 12, block.3)"
  std::string str() const;
};

// How far a rank is in a group: members of one number call the same collectives in one order.
struct GroupTurn {
  const char* group = "";  // a literal
  int number = 0;          // among the groups of that name
  int64_t turn = 0;        // collectives that it has begun
};

class FlightRecorder {
 public:
  static constexpr size_t kKept = 32, kGroups = 8, kPhases = 12;
  // Seconds that an exchange may take: before a phase of its kind is over, and in any case after.
  static constexpr double kFirstLimit = 600, kLeastLimit = 60;

  struct Entry : BegunExchange {
    int64_t number = 0;  // of this rank's exchanges, from 1
    int64_t turn = 0;    // of the group's collectives, alike on its ranks, from 1; 0 of messages
    double ended = 0;    // seconds; 0: under way

    // "  17     3  all-reduce of 4.0 MiB in the data group (step 12, block.3)  0.004 s", after
    // number and turn; "under way" for a time
    std::string line() const;
  };

  // That of the calling thread; it may outlive the thread.
  static const std::shared_ptr<FlightRecorder>& of_this_thread();
  // Of the thread that makes it.
  FlightRecorder();

  // By one thread. A group of the same name is forgotten.
  void join(const char* group, int number);
  void begin(const Exchange& exchange, int64_t turn, double now);
  void end(double now);
  // From now on the thread is in that phase, a literal.
  void enter(const char* phase, double now);
  // A phase of that kind is over.
  void took(const char* phase, double seconds);
  // That exchanges have taken so far.
  double waited() const { return waited_; }
  // The last step of an exchange.
  int64_t step() const { return step_; }
  // The last one in which an exchange has followed another one for the first time: from a step to
  // the next the same follow each other, so a rank that leaves one out is the only one that has
  // something new. 0: in none, or there are too many to tell.
  int64_t new_in_step() const { return new_in_step_; }

  // By any thread. The last kKept at most, the oldest first; one that is written at this moment is
  // left out.
  std::vector<Entry> kept() const;
  std::optional<Entry> under_way() const;
  std::vector<GroupTurn> turns() const;
  const char* phase() const { return phase_; }
  // When an exchange last began or ended, or a phase began.
  double last_sign() const { return last_sign_; }
  // Seconds that an exchange, or anything without one, may take in a phase: three times as many as
  // the slowest of its kind.
  double limit(const char* phase) const;
  // That the thread has used so far, and its number on this host.
  double processor_seconds() const;
  int64_t thread() const { return thread_; }

 private:
  static constexpr size_t kWords = (sizeof(Entry) + 7) / 8, kPairs = 1 << 14;
  // Odd versions are being written.
  struct Slot {
    std::atomic<uint64_t> version{0};
    std::array<std::atomic<uint64_t>, kWords> words{};
  };

  void follow(const BegunExchange& exchange);
  void write(const Entry& entry);
  std::optional<Entry> read(int64_t number) const;

  int64_t thread_;
  clockid_t clock_ = 0;
  Entry now_;  // the writer's
  double waited_ = 0;
  std::atomic<int64_t> last_{0}, step_{0}, new_in_step_{0};
  std::atomic<const char*> phase_{""};
  std::atomic<double> last_sign_{0};
  // The writer's: of the exchange before, and of all pairs that have been.
  uint64_t before_ = 0;
  bool full_ = false;
  std::array<uint64_t, kPairs> pairs_{};
  std::array<Slot, kKept> slots_;
  struct Group {
    std::atomic<const char*> name{nullptr};  // null: none from here on
    std::atomic<int> number{0};
    std::atomic<int64_t> turn{0};
  };
  std::array<Group, kGroups> groups_;
  struct Phase {
    std::atomic<const char*> name{nullptr};  // null: none from here on
    std::atomic<double> slowest{0};
  };
  std::array<Phase, kPhases> phases_;
};

// For an error: a peer's message has another size than this thread's exchange asks for. "; under
// way was all-reduce ...: ..." with what that means.
std::string in_another_exchange();

// What this thread does until the end of the scope; the name is a literal.
class WatchedPhase {
 public:
  explicit WatchedPhase(const char* name);
  ~WatchedPhase();

 private:
  const char* before_;
  WhereScope here_;
};

// The same, and the limit of what comes later follows from how long it takes.
class TimedPhase {
 public:
  explicit TimedPhase(const char* name);
  ~TimedPhase();

 private:
  WatchedPhase here_;
  double begun_;
};

// Records an exchange of this thread while it lives; nothing inside of another.
class InFlight {
 public:
  explicit InFlight(const Exchange& exchange, int64_t turn = 0);
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
};

}  // namespace skein
