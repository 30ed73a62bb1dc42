#include "skein/scaling/sweep/sweep.h"

#include <utility>

#include "skein/core/log.h"

#include "command.h"
#include "long_run.h"

namespace skein::cli {
namespace {

int end_of(const scaling::sweep::SweepResult& result, const std::string& dir) {
  const int64_t failed = result.count("failed"), diverged = result.count("diverged"),
                unfinished = result.count("unfinished");
  log::info(
      "{} of {} cells are done, {} diverged, {} failed, {} unfinished; {} of them in this start: "
      "{}/results.csv",
      result.count("done"), result.runs.size(), diverged, failed, unfinished, result.trained, dir);
  for (const scaling::ScalingRun& run : result.runs)
    if (run.status == "failed" || run.status == "diverged")
      log::warn("{} {}: {}", run.name, run.status, run.reason);
  if (result.stopped && unfinished > 0) {
    log::info(
        "stopped as asked: those under way have committed checkpoints, and the same command goes "
        "on from them");
    return static_cast<int>(ExitCode::requeue);
  }
  if (unfinished > 0) log::info("the unfinished cells are claimed by other processes");
  return static_cast<int>(failed > 0 ? ExitCode::failure : ExitCode::done);
}

}  // namespace

int sweep_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  scaling::sweep::SweepConfig config = scaling::sweep::sweep_defaults();
  Options options(
      "skein sweep",
      "Trains the models of a scaling experiment: a grid, a list, or budgets of FLOPs over sizes.");
  bind(options, config);
  if (!parse_run(options, args, config.run)) return 0;
  // --dry-run, which other commands have for the run: a cell has none of its own.
  if (std::exchange(config.run.run.dry_run, false)) config.dry_run = true;
  world = begin_run(config.run.run.dir, Folder::of_several);
  train::refuse_idle_options(options, config.run.model);
  const scaling::sweep::SweepConfig settled_config = settled(config);
  train::refuse_idle_in_model(options, settled_config.run.model);
  if (config.dry_run) {
    const std::string text = forecast_text(settled_config, *world);
    if (world->rank() == 0) answer(text);
    return 0;
  }
  return end_of(run_sweep(settled_config, *world, options.resolved()), config.run.run.dir);
}

}  // namespace skein::cli
