// The weights of a finished or stopped run, for whoever uses them without going on with the run.
#pragma once

#include <optional>
#include <string>

#include "skein/checkpoint/checkpoint.h"

namespace skein::train {

// Collective. path: one checkpoint, a folder of checkpoints, or a run's folder. Of a run that has
// kept its best weights (RUN/best) those are taken, as long as the newest checkpoint still counts
// them as the best, or they are newer than it in steps and by the clock; weights that another start
// has left there are passed over with a warning. Else the newest good checkpoint. The log says what
// was taken and its step. nullopt and errors as find_checkpoint.
std::optional<checkpoint::CheckpointInfo> find_weights(const std::string& path, Group& world);

// Collective. What checkpoint.load names: by find_weights where weights alone are wanted, else by
// find_checkpoint; nullopt where it names nothing. A usage error where that holds none.
std::optional<checkpoint::CheckpointInfo> find_load(const std::string& load, bool weights,
                                                    Group& world);

}  // namespace skein::train
