#include "skein/train/tasks/finetune.h"

namespace skein::train {

FinetuneConfig finetune_defaults() {
  FinetuneConfig c;
  c.run = adapting_defaults({"runs/finetune", 16, 5e-5});
  c.run.model.dropout = 0.1;
  c.run.optimizer.adamw.beta2 = 0.999;
  c.run.optimizer.weight_decay = 0.01;
  return c;
}

namespace {

void bind_task(Options& options, LabelTaskConfig& c) {
  options.add_choice(
      "task.kind", c.kind, label_kinds(),
      "a label for a text or a pair of texts, a number for it, or a tag for each word (CoNLL "
      "files)");
  bind(options, c.columns);
  options.add("task.labels", c.labels,
              "labels in the order of their ids; empty: those of data.train");
  options.add_choice("task.metric", c.metric, label_metrics(),
                     "of the validation, by which the best is kept; auto: accuracy, spearman for "
                     "numbers, f1 for tags");
  options.add("task.length", c.length,
              "longest sample, what is longer loses its end; 0: model.context, at most 128",
              "tokens");
  options.add("task.separator", c.separator, "decoders: what stands between the texts of a pair");
  options.add("task.epochs", c.epochs, "passes over data.train, where train.steps is 0");
}

}  // namespace

void bind(Options& options, FinetuneConfig& c) {
  bind_task(options, c.task);
  options.add("data.train", c.run.data.train,
              "files of examples to learn: .csv, .tsv, .jsonl, or CoNLL columns");
  options.add("data.validation", c.run.data.validation, "files of examples to evaluate on");
  bind_adapting(options, c.run);
}

}  // namespace skein::train
