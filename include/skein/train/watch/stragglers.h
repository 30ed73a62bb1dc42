// Ranks that take longer to compute than the others that compute the same: a processor that is hot,
// shared or broken holds up all of them, step after step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/comm/group.h"

namespace skein::train {

// Finds them in what all ranks took.
class SlowRanks {
 public:
  static constexpr int kWindows = 3;        // in a row that a rank must be slow in
  static constexpr double kBeyond = 0.1;    // of the median, that it takes longer
  static constexpr double kShortest = 0.1;  // seconds of a window that say something

  // peers: so many neighbours of `ranks` compute the same.
  SlowRanks(int ranks, int peers);

  struct Finding {
    int rank = 0;
    double beyond = 0;  // of the median of its peers, in the last window
  };
  // seconds [ranks]: that each computed in a window. Those that have become slow, each once until
  // it is as fast as the others again.
  std::vector<Finding> add(const std::vector<double>& seconds);

 private:
  int peers_;
  std::vector<int> in_a_row_;
};

class Stragglers {
 public:
  static constexpr int64_t kSteps = 100;  // of a window

  // world outlives it. peers: as SlowRanks has it.
  Stragglers(Group& world, int peers);
  // Collective every kSteps times: the seconds of a step that this rank computed, without waiting
  // for others. Warns of slow ranks.
  void count(double seconds);

 private:
  Group& world_;
  SlowRanks slow_;
  int64_t steps_ = 0;
  double seconds_ = 0;
};

}  // namespace skein::train
