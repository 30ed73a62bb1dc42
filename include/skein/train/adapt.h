// How a run begins from another task's model.
#pragma once

#include <string>

#include "skein/checkpoint/checkpoint.h"
#include "skein/train/replica.h"
#include "skein/train/task.h"

namespace skein {

// Collective. Fills the replica's weights from a checkpoint that has these notes, but for the
// tensors that the task begins anew, which keep their start values; the log says where from, and
// which those are.
void adapt(Replica& replica, const CheckpointInfo& from, const Task& task, const TaskNotes& notes,
           Group& world);

}  // namespace skein
