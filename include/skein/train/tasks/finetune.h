// Fine-tuning: a pretrained model learns labels of texts, of pairs of texts or of words, or
// numbers; or, where it reads sources, their targets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/data/images/augment.h"
#include "skein/train/config.h"
#include "skein/train/task.h"
#include "skein/train/tasks/label_head.h"
#include "skein/train/tasks/seq2seq.h"
#include "skein/train/trained_model.h"

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
  PretrainConfig run;  // data.train and data.validation name files of examples or pairs
  LabelTaskConfig task;
  Seq2seqConfig seq2seq;
  data::AugmentConfig augment;  // of pictures
  // As options say them; settle() brings them into the task that is meant. kind: of labels;
  // nothing: seq2seq.
  std::optional<LabelKind> kind = LabelKind::classify;
  std::string metric = "auto";
};

// Defaults, which differ from those of pretraining. What follows from the data or the model is left
// open: train.steps 0 (by task.epochs), lr.warmup -1 (a tenth of the steps, at least 1),
// validation.every -1 (once an epoch).
FinetuneConfig finetune_defaults();
void bind(Options& options, FinetuneConfig& config);
// After they were read. options: those that config is bound to. Usage errors for a metric that does
// not measure such a task, and for given options of the other kind of task.
void settle(const Options& options, FinetuneConfig& config);
// Usage errors for options of texts, for a model that reads something else.
void refuse_texts(const Options& options, const FinetuneConfig& config);

// Makes label_task, finetuned_image_task, or seq2seq_task with the tokenizers of the model to begin
// from or to go on with; config.run.model describes it. options: those that config is bound to.
std::unique_ptr<Task> finetune_task(const Options& options, FinetuneConfig& config,
                                    const TrainedModel& source);

// Makes the task for the model that config.run.model describes and its tokenizer. Reads the data,
// gives config.run.model the head and fills in what was left open. Usage errors for data that does
// not fit, and for a model that reads sources.
std::unique_ptr<Task> label_task(FinetuneConfig& config,
                                 std::shared_ptr<const text::Tokenizer> tokenizer);

}  // namespace skein::train
