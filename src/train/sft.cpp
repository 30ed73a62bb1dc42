#include "skein/train/sft.h"

namespace skein {

SftConfig sft_defaults() {
  SftConfig c;
  c.run = adapting_defaults({"runs/sft", 16, 2e-5, LrConfig::Decay::cosine});
  c.run.train.micro_batch = 1;
  c.run.optimizer.beta2 = 0.999;
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
  bind_adapting(options, c.run);
}

}  // namespace skein
