#include "skein/rlhf/dpo/task.h"

namespace skein {

DpoTuneConfig dpo_defaults() {
  DpoTuneConfig c;
  c.run = adapting_defaults({"runs/dpo", 32, 1e-6});
  return c;
}

void bind(Options& options, DpoTuneConfig& c) {
  options.add("data.train", c.run.data.train,
              "JSONL files of preferences, for kto also of answers with labels, to learn "
              "(docs/reward.md), plain, .gz, .xz or .zst");
  options.add("data.validation", c.run.data.validation,
              "JSONL files of preferences to evaluate on");
  bind_preference_files(options, c.task.layout, c.task.diverging, c.task.bad_records);
  options.add("chat.template", c.task.chat_template,
              "chat template: none, plain, chatml, llama2, llama3 or a JSON file; empty: the "
              "checkpoint's, else plain for dialogues and none for single texts");
  options.add("dpo.length", c.task.length, "longest prompt with an answer; 0: model.context",
              "tokens");
  options.add_choice("dpo.long_prompts", c.task.long_prompts,
                     {{"cut", LongPrompts::cut}, {"drop", LongPrompts::drop}},
                     "longer prompts lose their beginning, or are left out");
  bind(options, c.task.rules.loss);
  options.add("dpo.sft", c.task.rules.sft,
              "factor of the mean cross entropy of chosen answers in the loss; not with kto");
  options.add("dpo.epochs", c.task.epochs, "passes over data.train, where train.steps is 0");
  bind_adapting(options, c.run);
}

}  // namespace skein
