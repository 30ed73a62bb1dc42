#include "skein/train/sft.h"

namespace skein {

SftConfig sft_defaults() {
  SftConfig c;
  c.run.run.dir = "runs/sft";
  c.run.train.steps = 0;
  c.run.train.global_batch = 16;
  c.run.lr.lr = 2e-5;
  c.run.lr.min_lr = 0;
  c.run.lr.warmup = -1;
  c.run.lr.decay = LrConfig::Decay::cosine;
  c.run.optimizer.beta2 = 0.999;
  c.run.optimizer.weight_decay = 0;
  c.run.validation.every = -1;
  return c;
}

void bind(Options& options, SftConfig& c) {
  options.add("data.train", c.run.data.train, "files of conversations to learn: .jsonl, plain, .gz, .xz or .zst");
  options.add("data.validation", c.run.data.validation, "files of conversations to evaluate on");
  bind(options, c.chat);
  options.add("sft.length", c.task.length, "tokens of a row; 0: model.context", "tokens");
  options.add_choice("sft.longer", c.task.longer, {{"whole", LongChats::whole}, {"cut", LongChats::cut}},
                     "of a conversation longer than that: whole: answers that do not end within it are left out; cut: they lose their ends");
  options.add("sft.pack", c.task.pack, "several conversations a row, blind to each other");
  options.add("sft.epochs", c.task.epochs, "passes over data.train, where train.steps is 0");
  bind(options, c.run.model);
  bind(options, c.run.parallel);
  bind(options, c.run.train);
  bind(options, c.run.lr);
  bind(options, c.run.optimizer);
  bind_pace(options, c.run.validation);
  bind(options, c.run.checkpoint);
  bind(options, c.run.run);
}

}  // namespace skein
