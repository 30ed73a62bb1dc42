#include <algorithm>

#include "skein/core/log.h"
#include "skein/train/pretraining/pair_of_runs.h"

#include "command.h"
#include "long_run.h"

namespace skein::cli {

int compare_layouts_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  train::PretrainTaskConfig config;
  train::OtherLayout other{.ranks = 1};
  config.run.train.steps = 5;
  config.run.run.dir = "runs/compare-layouts";
  Options options("skein compare-layouts",
                  "Trains a few steps at two layouts and tells the first step after which a tensor "
                  "differs, which ones, and by how much.");
  bind(options, config);
  bind(options, other);
  if (!parse_run(options, args, config.run)) return 0;
  config.run.checkpoint.every = 1;
  config.run.checkpoint.keep = std::max<int64_t>(1, config.run.train.steps);
  world = begin_run(config.run.run.dir);
  const train::PairOfRuns runs(options, config, other, *world);
  const auto first = runs.train("first");
  require(first.step > first.begun,
          "train.steps={}, and the run began with {} done: there is no step to compare",
          config.run.train.steps, first.begun);
  runs.train_second("second", "first");
  int64_t equal = 0, left_out = 0;
  for (int64_t step = first.begun + 1; step <= first.step; ++step) {
    const train::Compared compared = runs.compare(step, "first", "second");
    if (compared == train::Compared::different) {
      log::info("the layouts differ from step {} on", step);
      return static_cast<int>(ExitCode::failure);
    }
    ++(compared == train::Compared::equal ? equal : left_out);
  }
  if (equal == 0) fail("both runs left out all of their {} steps; nothing is compared", left_out);
  log::info("the same bits after each of {} steps{}", equal,
            left_out > 0 ? fmt::format("; {} more were left out by both", left_out) : "");
  return static_cast<int>(ExitCode::done);
}

}  // namespace skein::cli
