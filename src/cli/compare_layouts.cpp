#include <algorithm>

#include "skein/core/log.h"
#include "skein/train/pretraining/pair_of_runs.h"

#include "command.h"
#include "long_run.h"

namespace skein::cli {

int compare_layouts_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  train::PretrainTaskConfig config;
  train::OtherLayout other{.ranks = 1};
  const int64_t& steps = config.run.train.steps = 5;
  config.run.run.dir = "runs/compare-layouts";
  Options options("skein compare-layouts",
                  "Trains a few steps at two layouts and tells the first step after which a tensor "
                  "differs, which ones, and by how much.");
  bind(options, config);
  bind(options, other);
  if (!parse_run(options, args, config.run)) return 0;
  config.run.checkpoint.every = 1;
  config.run.checkpoint.keep = std::max<int64_t>(1, steps);
  world = begin_run(config.run.run.dir);
  const train::PairOfRuns runs(options, config, other, *world);
  runs.train("first", false);
  runs.train("second", true);
  for (int64_t step = 1; step <= steps; ++step)
    if (!runs.equal(step, "first", "second")) {
      log::info("the layouts differ from step {} on", step);
      return static_cast<int>(ExitCode::failure);
    }
  log::info("the same bits after each of {} steps", steps);
  return static_cast<int>(ExitCode::done);
}

}  // namespace skein::cli
