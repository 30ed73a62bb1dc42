// The best weights of a run by its evaluations, in RUN/best, where find_weights (run_weights.h)
// takes them from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/train/run_state.h"

namespace skein::train {

// Collective. Whether what the state of a run's checkpoint calls the best still counts. It does
// only where those weights are kept: another start may have compared nothing, or its disk may have
// been full.
bool best_is_kept(const std::string& run, const RunState& stored, Group& world);

// Collective. Compares an evaluation at state.step with those before and counts it in `state`. The
// weights of a better one are committed to `store`; null: it is only counted. A quality that is not
// finite is the lowest. weights: gives those of this rank. metadata: gives that of the state as it
// is then. Where a disk fails, or the step had no finite gradient, the earlier best stays, with a
// warning.
void keep_if_best(RunState& state, double quality, checkpoint::CheckpointStore* store,
                  const std::function<std::vector<checkpoint::Piece>()>& weights,
                  const std::function<std::string()>& metadata);

}  // namespace skein::train
