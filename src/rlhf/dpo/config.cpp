#include "skein/rlhf/dpo/task.h"

namespace skein::rlhf::dpo {

DpoTuneConfig dpo_defaults() { return {train::adapting_defaults({"runs/dpo", 32, 1e-6}), {}}; }

void bind(Options& options, DpoTuneConfig& c) {
  options.add("data.train", c.run.data.train,
              "JSONL files of preferences, for kto also of answers with labels, to learn "
              "(docs/reward.md), plain, .gz, .xz or .zst");
  options.add("data.validation", c.run.data.validation,
              "JSONL files of preferences to evaluate on");
  bind(options, c.task, "dpo");
  bind(options, c.task.rules.loss);
  options.add("dpo.sft", c.task.rules.sft,
              "factor of the mean cross entropy of chosen answers in the loss; not with kto");
  options.add("dpo.epochs", c.task.epochs, "passes over data.train, where train.steps is 0");
  bind_adapting(options, c.run);
}

}  // namespace skein::rlhf::dpo
