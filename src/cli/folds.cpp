#include "skein/checkpoint/agree.h"
#include "skein/core/files/result_file.h"
#include "skein/core/log.h"
#include "skein/train/preflight/outlook.h"
#include "skein/train/pretraining/fold_runs.h"

#include "command.h"
#include "long_run.h"

namespace skein::cli {

int folds_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  train::PretrainTaskConfig config;
  config.run.run.dir = "runs/folds";
  Options options("skein folds",
                  "Trains a model of graphs once for each fold of a store, with the options of "
                  "skein pretrain; tells what the tests give, their mean and their deviation.");
  bind(options, config);
  if (!parse_run(options, args, config.run)) return 0;
  const std::string& dir = config.run.run.dir;
  world = begin_run(dir, Folder::of_several);
  if (config.run.run.dry_run) {
    const int64_t count = count_folds(config);
    train::PretrainTaskConfig first = run_of_fold(config, 1);
    const auto task = pretraining_task(options, first);
    train::Outlook outlook = look_ahead(first.run, *task, *world);
    outlook.text += fmt::format("folds     {} runs like this one, each after the other\n", count);
    tell(outlook, *world);
    return 0;
  }
  const train::FoldRuns runs = train_folds(options, config, *world);
  if (runs.stopped) return code_of_run(true, runs.committed);
  checkpoint::agree(*world, [&] {
    if (world->rank() == 0) write_result("run.dir", dir + "/folds.json", folds_json(runs.folds));
  });
  log::info("{}\n{}/folds.json", folds_table(runs.folds), dir);
  return 0;
}

}  // namespace skein::cli
