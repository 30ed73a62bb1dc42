#include "skein/train/chats/sft.h"

#include "skein/train/trainer.h"

#include "long_run.h"

namespace skein::cli {

int sft_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  train::SftConfig config = train::sft_defaults();
  Options options("skein sft",
                  "Teaches a pretrained decoder to answer, from conversations, at any pipeline x "
                  "data x tensor layout.");
  bind(options, config);
  if (!parse_run(options, args, config.run)) return 0;
  AdaptedRun run = begin_adapted(options, config.run, world);
  const auto task = sft_task(config, run.source.state.tokenizer.value(), run.source.state.notes);
  settle_run(options, config.run, run);
  if (looked_ahead(config.run, *task, *world, run.source.info)) return 0;
  const train::TrainResult result = train::train(config.run, *task, *world, options.resolved(),
                                                 run.source.info, std::move(run.claim));
  return code_of_run(result.stopped, result.committed);
}

}  // namespace skein::cli
