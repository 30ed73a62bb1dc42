// Fine-tuning: a pretrained model learns labels of texts, of pairs of texts or of words, or
// numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/train/config.h"
#include "skein/train/task.h"
#include "skein/train/tasks/label_head.h"

namespace skein::train {

struct LabelTaskConfig {
  LabelKind kind = LabelKind::classify;
  LabelColumns columns;
  LabelMetric metric = LabelMetric::automatic;
  // in the order of their ids; empty: those of the training data, in byte order
  std::vector<std::string> labels{};
  std::string separator = "\n";
  int64_t length = 0;  // tokens of the longest sample; 0: model.context, at most 128
  double epochs = 3;
};

struct FinetuneConfig {
  PretrainConfig run;  // data.train and data.validation name files of examples
  LabelTaskConfig task;
};

// Defaults, which differ from those of pretraining. What follows from the data or the model is left
// open: train.steps 0 (by task.epochs), lr.warmup -1 (a tenth of the steps), validation.every -1
// (once an epoch).
FinetuneConfig finetune_defaults();
void bind(Options& options, FinetuneConfig& config);

// Makes the task for the model that config.run.model describes and its tokenizer. Reads the data,
// gives config.run.model the head and fills in what was left open. Usage errors for data that does
// not fit.
std::unique_ptr<Task> label_task(FinetuneConfig& config,
                                 std::shared_ptr<const text::Tokenizer> tokenizer);

}  // namespace skein::train
