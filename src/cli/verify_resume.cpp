#include "skein/core/log.h"
#include "skein/train/pretraining/pair_of_runs.h"

#include "command.h"
#include "long_run.h"

namespace skein::cli {

int verify_resume_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  train::PretrainTaskConfig config;
  train::OtherLayout other;
  int64_t cut = 0;
  config.run.train.steps = 20;
  config.run.run.dir = "runs/verify-resume";
  Options options("skein verify-resume",
                  "Trains train.steps steps, and again with an end, a checkpoint and a new start "
                  "between, at another layout if you like; then compares every byte.");
  bind(options, config);
  bind(options, other);
  options.add("verify.at", cut, "step after which the second run ends; 0: half", "steps");
  if (!parse_run(options, args, config.run)) return 0;
  const int64_t planned = config.run.train.steps, half = planned / 2;
  require(
      planned >= 2,
      "train.steps={}: a run of fewer than 2 steps has no place to end and resume at; give more",
      planned);
  require((cut == 0 ? half : cut) > 0 && cut < planned, "verify.at={} must be 1 to {}", cut,
          planned - 1);
  world = begin_run(config.run.run.dir);
  const train::PairOfRuns runs(options, config, other, *world);
  const auto whole = runs.train("whole");
  const int64_t begun = whole.begun, steps = whole.step - begun;
  if (cut == 0) cut = begun + steps / 2;
  require(cut > begun && cut < whole.step,
          "verify.at={} must be a step within the run, which began with {} done and ended at {}; "
          "look at train.steps={}, checkpoint.load and validation.patience",
          cut, begun, whole.step, planned);
  runs.train("resumed", cut);
  const auto rest = runs.train_second("resumed", "whole");
  const train::Compared compared = runs.compare(whole.step, "whole", "resumed");
  if (compared == train::Compared::neither)
    fail("neither run has a checkpoint of step {}, their last; nothing is compared", whole.step);
  const bool same_tensors = compared == train::Compared::equal;
  const bool same_losses = world->rank() > 0 || ends_alike(whole, rest);
  const bool same = !world->any(!same_losses) && same_tensors;
  log::info("{} steps, and {} + {} with a resume between: {}", steps, cut - begun, whole.step - cut,
            same           ? "the same bits, losses and gradient norms included"
            : same_tensors ? "the same tensors, but not the same losses or gradient norms"
                           : "not the same bits");
  return static_cast<int>(same ? ExitCode::done : ExitCode::failure);
}

}  // namespace skein::cli
