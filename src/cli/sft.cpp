#include "skein/train/sft.h"

#include "adapted_run.h"
#include "label_model.h"
#include "skein/train/trainer.h"

namespace skein {

int sft_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  SftConfig config = sft_defaults();
  Options options("skein sft", "Teaches a pretrained decoder to answer, from conversations, at any pipeline x data x tensor layout.");
  bind(options, config);
  if (!parse(options, args, false, [&] { settle_precision(options, "train.precision", config.run.train.precision, config.run.parallel.device); })) return 0;
  world = begin_world();
  const auto given = given_model(options);
  const Source source = start_of(config.run, *world);
  take_model(config.run, source.model, given);
  check_tokenizer(source);
  const auto task = sft_task(config, source.tokenizer, source.notes);
  settle_run(options, config.run, given, source);
  const TrainResult result = train(config.run, *task, *world, options.resolved());
  return static_cast<int>(result.stopped ? ExitCode::requeue : ExitCode::done);
}

}  // namespace skein
