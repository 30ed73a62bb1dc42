// How well a model that maps sources does on pairs of texts: how it predicts their targets, and
// what it writes itself.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "skein/core/values.h"
#include "skein/parallel/layout.h"
#include "skein/train/tasks/decoded_texts.h"
#include "skein/train/tasks/label_head.h"
#include "skein/train/trained_model.h"

namespace skein::train {

struct PairEvalConfig {
  data::PairsConfig pairs;
  data::TwoSidedConfig sides;                             // what is not given is as in training
  std::vector<std::string> metrics = training_metrics();  // none: nothing is decoded
  text::MetricOptions scores;
  generate::BeamConfig beam;
  std::string texts;  // file for what the model writes; "": none
};

// Binds sections "task" (but for what data::bind_beside_columns leaves out), "score" and "beam",
// and eval.texts.
void bind(Options& options, PairEvalConfig& config);

struct PairEvaluation {
  const PairEvalConfig& config;
  const LabelColumns& columns;
  Options& options;                       // those that config and columns are bound to
  const std::vector<std::string>& files;  // or stores of pairs
  const TrainedModel& source;
  const ParallelConfig& parallel;
  int64_t batch = 1;  // rows a forward pass, or decoded together
};

struct PairResult {
  // loss, perplexity, token_accuracy, the metrics' scores, and the numbers of tokens and pairs
  NamedValues values;
  std::vector<std::pair<std::string, std::string>> signatures;  // of each metric
};

// Collective. Options that say how pairs are read and formed and that were not given are as the
// model was trained. Logs the result and writes the texts. The same bits at every data- and
// pipeline-parallel layout.
PairResult evaluate_pairs(const PairEvaluation& asked, Group& world);

}  // namespace skein::train
