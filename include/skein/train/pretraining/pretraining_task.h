// What `skein pretrain` is told, and the task that it means: tokens, pairs of texts, pictures,
// graphs or stories.
#pragma once

#include <memory>
#include <string>

#include "skein/data/images/augment.h"
#include "skein/train/config.h"
#include "skein/train/graphs/graph_task.h"
#include "skein/train/task.h"
#include "skein/train/tasks/seq2seq.h"
#include "skein/train/tasks/story_task.h"

namespace skein::train {

enum class PretrainKind { language, seq2seq };

struct PretrainTaskConfig {
  PretrainConfig run;
  PretrainKind kind = PretrainKind::language;
  data::AugmentConfig augment;  // of a model that reads pictures
  GraphTaskConfig graphs;       // of one that reads graphs
  StoryTaskConfig stories;      // of one that reads stories
  Seq2seqConfig seq2seq;
  // that encode files of pairs: one, or one for each side; "": those of the first store
  std::string tokenizer, target_tokenizer;
};
void bind(Options& options, PretrainTaskConfig& config);
// Makes language_task or seq2seq_task, or image_task, graph_task or story_task for a model that
// reads pictures, graphs or stories.
std::unique_ptr<Task> pretraining_task(PretrainTaskConfig& config);
// The same. options: those that it is bound to; a usage error for given ones of the other kinds.
std::unique_ptr<Task> pretraining_task(const Options& options, PretrainTaskConfig& config);

// Usage errors for given options that change nothing in this model, or are for what it does not
// read. options: those of a run, with augment.*, graph.* and stories.*.
void refuse_idle_options(const Options& options, const ModelConfig& model);
// The same for a model as its data have made it.
void refuse_idle_in_model(const Options& options, const ModelConfig& model);

}  // namespace skein::train
