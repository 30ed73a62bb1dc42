#include "skein/rlhf/dpo/task.h"
#include "skein/train/trainer.h"

#include "long_run.h"

namespace skein::cli {
namespace {

constexpr const char* kAbout =
    "Teaches a pretrained decoder to answer as people prefer, from pairs of answers, by direct "
    "preference optimisation (DPO), IPO or SimPO, or from single answers that are good or bad, by "
    "KTO: dpo.loss. checkpoint.load is the reference too, but with SimPO, which has none. "
    "lr.lr=1e-6 is for billions of parameters; models of millions want 1e-5 to 1e-3.";

}  // namespace

int dpo_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  rlhf::dpo::DpoTuneConfig config = rlhf::dpo::dpo_defaults();
  Options options("skein dpo", kAbout);
  bind(options, config);
  const rlhf::dpo::DpoConfig& loss = config.task.rules.loss;
  if (!parse_run(options, args, config.run, [&] { settle(options, loss); })) return 0;
  const bool refers = has_reference(loss.kind);
  require(!config.run.checkpoint.load.empty(),
          "checkpoint.load names no policy to begin from{}; give the folder of its run",
          refers ? ", which is the reference too" : "");
  AdaptedRun run = begin_adapted(options, config.run, world);
  rlhf::dpo::DpoTask task(config, run.source.state.tokenizer.value(), run.source.state.notes);
  settle_run(options, config.run, run);
  const train::TrainedModel reference =
      refers && run.goes_on
          ? train::open_trained_model(config.run.checkpoint.load, config.run.parallel.timeout,
                                      *world, "checkpoint.load")
          : run.source;
  if (looked_ahead(config.run, task, *world, run.source.info)) return 0;
  if (refers) task.ask_reference(config.run, reference.info, *world);
  const train::TrainResult result = train::train(config.run, task, *world, options.resolved(),
                                                 run.source.info, std::move(run.claim));
  return code_of_run(result.stopped, result.committed);
}

}  // namespace skein::cli
