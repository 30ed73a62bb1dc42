#include "skein/train/best_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/log.h"

namespace skein::train {

bool best_is_kept(const std::string& run, const RunState& stored, Group& world) {
  const std::string answer = checkpoint::from_root(world, [&] {
    const auto kept = checkpoint::list_checkpoints(run + "/best");
    return std::ranges::count(kept, stored.best_step, &checkpoint::CheckpointInfo::step) > 0 ? "yes"
                                                                                             : "no";
  });
  return answer == "yes";
}

void keep_if_best(RunState& state, double quality, checkpoint::CheckpointStore* store,
                  const std::function<std::vector<checkpoint::Piece>()>& weights,
                  const std::function<std::string()>& metadata) {
  if (!std::isfinite(quality)) quality = std::numeric_limits<double>::lowest();
  const bool better = state.best_step < 0 || quality > state.best_quality;
  if (state.skipped_in_a_row > 0) {
    if (better)
      log::warn(
          "the weights of step {} are not kept as the best ones: its gradient norm is not finite",
          state.step);
    return;
  }
  state.fruitless = better ? 0 : state.fruitless + 1;
  if (!better) return;
  const auto [before, step] = std::pair(state.best_quality, state.best_step);
  state.best_quality = quality;
  state.best_step = state.step;
  if (!store) return;
  const std::vector<checkpoint::Piece> own = weights();
  try {
    store->save(state.step, own, metadata());
  } catch (const LostRank&) {
    throw;
  } catch (const Error& error) {
    if (error.code() == ExitCode::superseded) throw;
    log::warn("the best weights so far, of step {}, are not kept: {}", state.step, error.what());
    state.best_quality = before;
    state.best_step = step;
  }
}

}  // namespace skein::train
