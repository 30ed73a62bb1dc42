#include "skein/train/tasks/language_task.h"

#include "command.h"
#include "long_run.h"

namespace skein::cli {

int pretrain_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  train::PretrainConfig config;
  config.run.dir = "runs/pretrain";
  Options options(
      "skein pretrain",
      "Pretrains a decoder or an encoder on token stores, at any pipeline x data x tensor layout.");
  bind(options, config);
  if (!parse_run(options, args, config)) return 0;
  world = begin_run(config.run.dir);
  const train::TrainResult result = pretrain(config, *world, options.resolved());
  return code_of_run(result.stopped, result.committed);
}

}  // namespace skein::cli
