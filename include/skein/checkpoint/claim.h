// One process at a time writes a run. A start that finds an older one at work waits for it, then
// takes over: the older one commits no more (docs/checkpoint-format.md, "Generations").
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "skein/checkpoint/generation.h"
#include "skein/comm/group.h"

namespace skein::checkpoint {

struct ClaimOptions {
  using Time = std::chrono::milliseconds;

  std::string run;        // the id that the run must have; "": what is there, or a new one
  Time takeover{60'000};  // how long to wait for an older start that lives; 0: not at all
  Time renewal{10'000};   // of the own sign of life
  // Without a sign of life, more than two renewals: it is dead, wherever it runs.
  Time silence{25'000};
  Time pause{200};                       // between two looks
  std::function<Time()> now = {};        // of any clock; null: the steady one
  std::function<void(Time)> sleep = {};  // null: this thread sleeps
};

class RunClaim {
 public:
  // Collective. Takes the next generation in `directory`, which is made if it is missing. An older
  // start of this host that has died is known to be dead at once; one of another host is watched.
  // Error(superseded) when another start was faster; it says where that one runs. Error(usage) with
  // both ids when a generation or a commit there is of another run.
  RunClaim(const std::string& directory, const ClaimOptions& options, Group& world);
  // Removes the sign of life. Unless settle() was called nothing is left of this start.
  ~RunClaim();
  RunClaim(const RunClaim&) = delete;
  RunClaim& operator=(const RunClaim&) = delete;

  // Collective. Before the first write to the run: Error(superseded) when another has taken over
  // meanwhile. Clears what older starts have left.
  void settle(Group& world);

  // Whether a newer start has taken over; may be asked by one rank.
  bool superseded() const;

  // From any thread, just before the process ends without its destructors: removes what they would
  // of every claim of this process. Takes 1 s at most.
  static void withdraw_all() noexcept;

  const std::string& directory() const { return directory_; }
  int64_t generation() const { return generation_; }
  const std::string& run() const { return run_; }

 private:
  void add_folders(int made) const;
  void take(const ClaimOptions& options, int ranks);
  void withdraw() noexcept;

  std::string directory_, run_;
  int64_t generation_ = 0;
  std::unique_ptr<Heartbeat> heartbeat_;  // rank 0's
};

}  // namespace skein::checkpoint
