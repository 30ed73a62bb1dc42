// The best weights of a run by its evaluations, in RUN/best, where find_weights (run_weights.h)
// takes them from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/train/run_state.h"

namespace skein {

// Collective. Whether what a run's checkpoint, with this state, holds to be its best counts still:
// only with its weights, since another start may have compared nothing, or its disk have been full.
bool best_is_kept(const std::string& run, const RunState& stored, Group& world);
// What `stored` says of its evaluations goes into `state`.
void take_best(const RunState& stored, RunState& state);

// Collective. Compares an evaluation at state.step with those before, which is counted in state,
// and commits the weights of a better one to `store`; null: it is only counted. A quality that is
// not finite is the lowest. weights: those of this rank; metadata: of the state as it is then. A
// disk that fails leaves the earlier best in place, as does a step without a finite gradient, with
// a warning.
void keep_if_best(RunState& state, double quality, CheckpointStore* store,
                  const std::function<std::vector<Piece>()>& weights,
                  const std::function<std::string()>& metadata);

}  // namespace skein
