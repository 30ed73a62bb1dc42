#include "skein/train/finetune.h"

#include "adapted_run.h"
#include "label_model.h"
#include "skein/train/trainer.h"

namespace skein {

int finetune_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  FinetuneConfig config = finetune_defaults();
  Options options("skein finetune", "Teaches a pretrained model labels of texts, pairs or words, or numbers, at any pipeline x data x tensor layout.");
  bind(options, config);
  if (!parse(options, args, false, [&] { settle_precision(options, "train.precision", config.run.train.precision, config.run.parallel.device); })) return 0;
  world = begin_world();
  const auto given = given_model(options);
  const Source source = start_of(config.run, *world);
  take_model(config.run, source.model, given);
  check_tokenizer(source);
  const auto task = label_task(config, source.tokenizer);
  settle_run(options, config.run, given, source);
  const TrainResult result = train(config.run, *task, *world, options.resolved());
  return static_cast<int>(result.stopped ? ExitCode::requeue : ExitCode::done);
}

}  // namespace skein
