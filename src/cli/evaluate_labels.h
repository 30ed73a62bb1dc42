// `skein eval` of models with a head of labels.
#pragma once

#include "skein/core/values.h"
#include "skein/train/tasks/label_head.h"

#include "command.h"

namespace skein {

struct LabelEvalConfig {
  std::vector<std::string> files;
  LabelColumns columns;
};

void bind(Options& options, LabelEvalConfig& config);

// Collective. Metrics of the files' examples, also told in the log. options: those that config is
// bound to.
NamedValues evaluate_labels(const LabelEvalConfig& config, Options& options, const Source& source,
                            const ParallelConfig& parallel, int64_t batch, Group& world);

}  // namespace skein
