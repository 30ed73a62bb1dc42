// What a start of training makes of the checkpoint that it begins from.
#pragma once

#include <string>

#include "skein/checkpoint/checkpoint.h"
#include "skein/train/config.h"
#include "skein/train/replica.h"
#include "skein/train/run_state.h"
#include "skein/train/task.h"

namespace skein::train {

struct StoredStart {
  RunState state;
  std::string path;
  bool own = false;           // of the run's own folder, so the run goes on
  bool adapts = false;        // the task takes of another model what fits
  bool weights_only = false;  // it begins with the weights alone
  bool keeps_groups = false;  // gradients are added in its groups

  // Whether steps are counted on from it.
  bool goes_on() const { return !adapts && !weights_only; }
};
StoredStart stored_start(const checkpoint::CheckpointInfo& from, bool own,
                         const PretrainConfig& config, const Task& task);

// Of one that does not adapt: a usage error with both values where it holds another model, another
// tokenizer, another task, or moments of other tensors. Returns the other options that differ, as
// compare_with_stored does.
std::string compare_with_start(const StoredStart& start, const PretrainConfig& config,
                               const Task& task);

// Collective. Fills the replica's weights from a checkpoint that has these notes. The tensors that
// the task begins anew keep their start values, and so do constant ones of another shape; those
// that it refits (Task::refitted) get what it makes of the checkpoint's. The log names the
// checkpoint and what begins anew.
void adapt(Replica& replica, const checkpoint::CheckpointInfo& from, const Task& task,
           const TaskNotes& notes, Group& world);

}  // namespace skein::train
