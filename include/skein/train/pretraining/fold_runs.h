// The same run for each fold of a store of graphs in turn: k-fold cross-validation.
//
// The folder, run.dir:
//   fold-K/       the run of which fold K is the test, a pretraining run
//   folds.json    what the tests have given: of each fold, their mean and their deviation
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/core/options/options.h"
#include "skein/core/values.h"
#include "skein/train/pretraining/pretraining_task.h"

namespace skein::train {

// What a fold's run makes of its test.
struct FoldScores {
  int64_t fold = 0;  // from 1
  int64_t step = 0;  // of the weights that were judged: the best ones, where they are kept
  NamedValues values{};
};

struct FoldRuns {
  std::vector<FoldScores> folds{};  // in their order; all of them unless it was stopped
  bool stopped = false;             // as asked
  bool committed = false;           // there is something to go on from
};

// How many folds there are. Usage errors for an empty run.dir, a model that reads no graphs,
// graph.fold, and stores without folds or with different numbers of them.
int64_t count_folds(const PretrainTaskConfig& config);
// The run of one of them, from 1.
PretrainTaskConfig run_of_fold(const PretrainTaskConfig& config, int64_t fold);

// Collective. Trains with each fold as the test, the fold after it as the validation and the rest
// to learn from (GraphChoice, data/graphs/graph_samples.h), each in a folder of its own, and judges
// it by its test as `skein eval` does. A fold that is under way goes on, one that is done is only
// judged again. options: those that config is bound to. Usage errors as count_folds.
FoldRuns train_folds(const Options& options, const PretrainTaskConfig& config, Group& world);

// Of at least one fold. The deviation is that of the folds, sqrt(sum (x - mean)² / (folds - 1)); 0
// of one fold.
struct FoldMean {
  std::string name;
  double mean = 0, deviation = 0;
};
std::vector<FoldMean> means_of(const std::vector<FoldScores>& folds);
// A line a fold, the mean and the deviation, of accuracy or root mean squared error and the rest.
std::string folds_table(const std::vector<FoldScores>& folds);
// The same as JSON: {"folds":[{"fold":1,"step":300,"accuracy":0.7,...},...],"mean":{...},
// "deviation":{...}}.
std::string folds_json(const std::vector<FoldScores>& folds);

}  // namespace skein::train
