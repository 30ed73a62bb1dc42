#include "skein/train/pretraining/pretraining_task.h"
#include "skein/train/trainer.h"

#include "command.h"
#include "long_run.h"

namespace skein::cli {

int pretrain_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  train::PretrainTaskConfig config;
  train::PretrainConfig& run = config.run;
  run.run.dir = "runs/pretrain";
  Options options("skein pretrain",
                  "Pretrains a decoder, an encoder or an encoder-decoder on token stores, or "
                  "teaches one pairs of texts, at any pipeline x data x tensor layout.");
  bind(options, config);
  if (!parse_run(options, args, run)) return 0;
  world = begin_run(run.run.dir);
  const auto task = pretraining_task(options, config);
  if (looked_ahead(run, *task, *world)) return 0;
  const train::TrainResult result = train::train(run, *task, *world, options.resolved());
  return code_of_run(result.stopped, result.committed);
}

}  // namespace skein::cli
