// When a run commits: after steps, after minutes, or as often as costs least.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "skein/comm/group.h"
#include "skein/train/config.h"

namespace skein::train {

// Seconds between commits of so many seconds each that lose least, where the job fails every
// `failures` seconds: sqrt(2 cost failures) (Young 1974). cost: for which training stands still.
double best_interval(double cost, double failures);

// Whether commits are written beside training; those of a stop and of the end never are.
bool saves_beside(const CheckpointConfig& config, DeviceKind device);

class CommitSchedule {
 public:
  // clock: seconds; empty: the steady clock.
  explicit CommitSchedule(const CheckpointConfig& config, std::function<double()> clock = {});

  // Collective. Whether one is due after that step; by the clock, that of rank 0 counts.
  bool due(int64_t step, Group& world) const;
  // One has begun, for which this rank stood still for so long.
  void begun(double stood_still);
  // Between two by the clock, in seconds; 0: none are due by it.
  double interval() const;
  // "the next attempt is 500 steps away", for messages.
  std::string next_attempt(const std::string& step) const;
  // "training stood still for 3 checkpoints, 0.2 s for the first and 0.05 s for each later one:
  // 0.4% of the time"; "" where there was none.
  std::string told_cost() const;

 private:
  CheckpointConfig config_;
  std::function<double()> clock_;
  double made_, last_, cost_ = 0;
  int64_t times_ = 0;
  double first_ = 0, later_ = 0;  // seconds that they cost: the first, all later ones
};

}  // namespace skein::train
