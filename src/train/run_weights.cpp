#include "skein/train/run_weights.h"

#include <algorithm>

#include "skein/checkpoint/agree.h"
#include "skein/core/log.h"
#include "skein/train/run_state.h"

namespace skein::train {
namespace {

bool still_best(const checkpoint::CheckpointInfo& best, const checkpoint::CheckpointInfo& newest) {
  if (run_state(newest.metadata, newest.path).best_step == best.step) return true;
  return best.step > newest.step && best.created >= newest.created;
}

// The folder with the best weights, or "" where the run's checkpoints are to be taken.
std::string best_of(const std::string& path) {
  const auto kept = path.empty() ? std::vector<checkpoint::CheckpointInfo>()
                                 : checkpoint::list_checkpoints(path + "/best");
  if (kept.empty()) return "";
  const auto all = checkpoint::list_checkpoints(path);
  const auto newest = std::ranges::find_if(
      all, [](const checkpoint::CheckpointInfo& info) { return !info.metadata.empty(); });
  if (newest == all.end() || still_best(kept.front(), *newest)) return path + "/best";
  log::warn(
      "{}/best is not taken: its weights of step {} are of another start, and the newest of the "
      "run, of step {}, were not compared with them",
      path, kept.front().step, newest->step);
  return "";
}

}  // namespace

std::optional<checkpoint::CheckpointInfo> find_weights(const std::string& path, Group& world) {
  const std::string best = checkpoint::from_root(world, [&] { return best_of(path); });
  const auto found = checkpoint::find_checkpoint(best.empty() ? path : best, world);
  if (found)
    log::info("takes the {}, of step {}: {}", best.empty() ? "weights" : "best weights of the run",
              found->step, found->path);
  return found;
}

std::optional<checkpoint::CheckpointInfo> find_load(const std::string& load, bool weights,
                                                    Group& world) {
  if (load.empty()) return std::nullopt;
  auto found = weights ? find_weights(load, world) : checkpoint::find_checkpoint(load, world);
  require(found.has_value(), "checkpoint.load={}", checkpoint::no_checkpoint(load));
  return found;
}

}  // namespace skein::train
