// One training run at any pipeline × data × tensor layout: from the options to the last checkpoint.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/claim.h"
#include "skein/train/config.h"
#include "skein/train/task.h"

namespace skein::train {

struct TrainResult {
  // mean of each step from `begun` to `step`, nats a place that counts; of steps that a rollback
  // has made twice, what came of them in the end
  std::vector<double> losses;
  std::vector<double> grad_norms;  // before clipping
  Scores validation;               // at the end; nothing without validation data
  int64_t begun = 0;               // steps done before this start
  int64_t step = 0;                // steps done in all
  bool stopped = false;            // was asked to stop before it was done
  // its folder holds a checkpoint to go on from; of the last step, unless nothing could be
  // committed there
  bool committed = false;
};

// Collective over world. Runs the task. The run goes on from the newest good checkpoint in
// config.run.dir, whatever layout wrote it, if find_own_checkpoint (run_folder.h) finds one. Else
// it begins from what checkpoint.load names: by find_weights where it takes weights alone, else by
// find_checkpoint. With config.validation.patience it ends once validation has not been better for
// so many times in a row; the best weights are in run.dir/best. Usage errors say what does not fit,
// with both numbers.
// resolved: the options as text, for run.dir/config.ini.
// start: the checkpoint that these rules find, where the caller has found it, and so verified it,
// already.
// claim: that of config.run.dir, where the caller has taken it before it looked there.
TrainResult train(const PretrainConfig& config, Task& task, Group& world,
                  const std::string& resolved = "",
                  const std::optional<checkpoint::CheckpointInfo>& start = std::nullopt,
                  std::unique_ptr<checkpoint::RunClaim> claim = nullptr);

}  // namespace skein::train
