// How a run begins from another task's model.
#pragma once

#include "skein/checkpoint/checkpoint.h"
#include "skein/train/replica.h"
#include "skein/train/task.h"

namespace skein::train {

// Collective. Fills the replica's weights from a checkpoint that has these notes. The tensors that
// the task begins anew keep their start values, and so do constant ones of another shape; those
// that it refits (Task::refitted) get what it makes of the checkpoint's. The log names the
// checkpoint and what begins anew.
void adapt(Replica& replica, const checkpoint::CheckpointInfo& from, const Task& task,
           const TaskNotes& notes, Group& world);

}  // namespace skein::train
