// How well a model with a head of labels does on examples.
#pragma once

#include <string>
#include <vector>

#include "skein/core/values.h"
#include "skein/parallel/layout.h"
#include "skein/train/tasks/label_head.h"
#include "skein/train/trained_model.h"

namespace skein::train {

struct LabelEvalConfig {
  std::vector<std::string> files;
  LabelColumns columns;
};

void bind(Options& options, LabelEvalConfig& config);

// Collective. Returns the metrics of the files' examples, and logs them. options: those that config
// is bound to.
NamedValues evaluate_labels(const LabelEvalConfig& config, Options& options,
                            const TrainedModel& source, const ParallelConfig& parallel,
                            int64_t batch, Group& world);

}  // namespace skein::train
