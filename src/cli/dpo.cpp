#include "skein/rlhf/dpo_task.h"

#include "adapted_run.h"
#include "skein/train/trainer.h"

namespace skein {
namespace {

constexpr const char* kAbout =
    "Teaches a pretrained decoder to answer as people prefer, from pairs of answers, by direct preference optimisation (DPO). checkpoint.load is "
    "the reference too. lr.lr=1e-6 is for billions of parameters; models of millions want 1e-5 to 1e-3.";

}  // namespace

int dpo_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  DpoTuneConfig config = dpo_defaults();
  Options options("skein dpo", kAbout);
  bind(options, config);
  if (!parse_run(options, args, config.run)) return 0;
  require(!config.run.checkpoint.load.empty(), "checkpoint.load names no policy to begin from, which is the reference too; give the folder of its run");
  const AdaptedRun run = begin_adapted(options, config.run, world);
  DpoTask task(config, tokenizer_from_json(run.source.tokenizer), run.source.notes);
  settle_run(options, config.run, run);
  const Source reference = run.goes_on ? open_source(config.run.checkpoint.load, *world, "checkpoint.load") : run.source;
  task.ask_reference(config.run, reference.info, *world);
  const TrainResult result = train(config.run, task, *world, options.resolved(), run.source.info);
  return static_cast<int>(result.stopped ? ExitCode::requeue : ExitCode::done);
}

}  // namespace skein
