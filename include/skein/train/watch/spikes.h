// Spikes: steps whose loss or gradient norm lies far beyond those of the latest ones, as after bad
// data. Some runs do not recover from one by themselves.
//
// What is a spike follows from the losses and norms of a run alone, as they are logged, and the
// checkpoint keeps what the next decision needs: a run that is resumed decides the same.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"

namespace skein::train {

struct SpikeConfig {
  enum class Action {
    none,
    warn,
    skip,     // the step changes nothing
    rollback  // to the newest checkpoint, and on behind the data that have led here
  };
  Action action = Action::warn;
  double deviations = 6;  // beyond the mean of the latest steps
  int64_t window = 128;   // steps; half of them must be there before anything is one
  int64_t leave_out = 0;  // steps of data behind a spike that a rollback leaves out as well
};
// Section "spikes".
void bind(Options& options, SpikeConfig& config);
void check(const SpikeConfig& config);

struct Spike {
  int64_t step = 0;      // the first is 1
  std::string quantity;  // "loss", "gradient norm"
  double value = 0, mean = 0, deviation = 0;
  std::string action;    // what was made of it: "warned", "skipped", "rolled back"
  int64_t back_to = -1;  // rolled back: the step of the checkpoint

  // "the loss 8.31 is 7.4 deviations above 3.12, the mean of the latest steps"
  std::string str() const;
};

// What a checkpoint keeps of them.
struct SpikeRecord {
  static constexpr size_t kKept = 100;  // decisions

  std::vector<double> losses, grad_norms;  // of the latest steps, the oldest first
  std::vector<Spike> decisions;            // the latest
  void add(Spike decision);
};

class SpikeDetector {
 public:
  explicit SpikeDetector(const SpikeConfig& config) : config_(config) {}

  // Beyond which a loss or norm is a spike; infinite while too little is known.
  struct Limits {
    double loss = std::numeric_limits<double>::infinity(),
           grad_norm = std::numeric_limits<double>::infinity();
  };
  Limits limits() const;
  // What is told of a step; the loss counts where both are spikes. Then the step is one of the
  // latest ones, whatever is made of it, unless its numbers are not finite.
  std::optional<Spike> judge(int64_t step, double loss, double grad_norm);

  void keep(SpikeRecord& record) const;
  void restore(const SpikeRecord& record);

 private:
  // The latest values of one quantity.
  struct Latest {
    std::deque<double> values;
    double mean() const;
    double deviation() const;
  };
  double limit(const Latest& latest) const;
  void add(Latest& latest, double value) const;

  SpikeConfig config_;
  Latest losses_, grad_norms_;
};

}  // namespace skein::train
