#include "skein/train/tasks/finetune.h"

#include "skein/train/trainer.h"

#include "long_run.h"

namespace skein::cli {

int finetune_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  train::FinetuneConfig config = train::finetune_defaults();
  Options options(
      "skein finetune",
      "Teaches a pretrained model labels of texts, pairs, words or pictures, or numbers; "
      "or the targets of sources, at any pipeline x data x tensor layout.");
  bind(options, config);
  if (!parse_run(options, args, config.run)) return 0;
  settle(options, config);
  AdaptedRun run = begin_adapted(options, config.run, world, true);
  const auto task = finetune_task(options, config, run.source);
  settle_run(options, config.run, run);
  if (looked_ahead(config.run, *task, *world, run.source.info)) return 0;
  const train::TrainResult result = train::train(config.run, *task, *world, options.resolved(),
                                                 run.source.info, std::move(run.claim));
  return code_of_run(result.stopped, result.committed);
}

}  // namespace skein::cli
