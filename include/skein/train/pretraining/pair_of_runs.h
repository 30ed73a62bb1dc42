// Two runs that must have the same bits: one of them interrupted and resumed, or at another layout.
#pragma once

#include <string>

#include "skein/comm/group.h"
#include "skein/core/options/options.h"
#include "skein/train/pretraining/pretraining_task.h"
#include "skein/train/trainer.h"

namespace skein::train {

// Of the second run, where it differs from parallel.* and train.*.
struct OtherLayout {
  int ranks = 0;                             // 0: all of the job
  int pipeline = 0, tensor = 0, chunks = 0;  // 0: as the first, or 1 where the ranks are fewer
  int64_t micro_batch = 0;                   // 0: as the first
};
// Section "other".
void bind(Options& options, OtherLayout& other);

// Whether a run that was resumed has, in each step since then, the loss and the gradient norm of
// the whole one. It may have rolled back to before its start.
bool ends_alike(const TrainResult& whole, const TrainResult& resumed);

// neither: both left the step out, so that neither has a checkpoint of it.
enum class Compared { equal, different, neither };

class PairOfRuns {
 public:
  // Collective over world, which outlives it, as do the options that config is bound to. Both run
  // in folders of run.dir: a usage error where that is there already.
  PairOfRuns(const Options& options, const PretrainTaskConfig& config, const OtherLayout& other,
             Group& world);

  // Collective. Trains in the folder of that name, as told. stop_at: as RunConfig has it.
  // Error(failure) when it was asked to stop.
  TrainResult train(const std::string& name, int64_t stop_at = 0) const;
  // Collective. As train, at the other layout, and with the reduction groups of the run `first`,
  // which has been trained; ranks that it has no need of wait. A usage error where these do not
  // fit.
  TrainResult train_second(const std::string& name, const std::string& first) const;
  // Collective. Whether the checkpoints of that step are equal bit for bit; rank 0 tells what
  // differs. A checkpoint that only one of them has is a difference.
  Compared compare(int64_t step, const std::string& first, const std::string& second) const;

 private:
  std::string folder(const std::string& name) const { return config_.run.run.dir + "/" + name; }
  TrainResult train(PretrainTaskConfig& config, int ranks) const;
  int64_t groups(const std::string& name) const;

  const Options& options_;
  PretrainTaskConfig config_;
  OtherLayout other_;
  Group& world_;
};

}  // namespace skein::train
