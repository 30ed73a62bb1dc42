#include "skein/train/adapt.h"

#include <fmt/ranges.h>
#include <set>
#include <sstream>
#include <vector>

#include "skein/checkpoint/parameters.h"
#include "skein/core/log.h"

namespace skein::train {
namespace {

std::set<std::string> lines_of(const std::vector<std::string>& texts) {
  std::set<std::string> lines;
  for (const std::string& text : texts) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.insert(line);
  }
  return lines;
}

}  // namespace

void adapt(Replica& replica, const checkpoint::CheckpointInfo& from, const Task& task,
           const TaskNotes& notes, Group& world) {
  const auto held = checkpoint_tensors(from, world);
  std::string anew;
  const auto targets = replica.optimizer().weights(false, [&](const Parameter& p) {
    const bool begins =
        task.begins_anew(p.part, held.contains(checkpoint::weight_name(p.tensor())), notes);
    if (begins) anew += p.tensor() + "\n";
    return !begins;
  });
  load_checkpoint(from, targets, false, world);
  replica.optimizer().loaded(0);
  log::info("begins with the weights of {} (step {})", from.path, from.step);
  const std::set<std::string> names = lines_of(world.all_gather(anew));
  if (!names.empty()) log::info("tensors that begin anew: {}", fmt::join(names, ", "));
}

}  // namespace skein::train
