// How well a model answers questions about stories, and whether it looks at the right sentences.
#pragma once

#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/core/values.h"
#include "skein/parallel/layout.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// Collective. Returns story_scores of the stores' questions, and of each hop the share of questions
// in which the sentence of the largest weight supports the answer; any_hop: in which that of some
// hop does. Only questions count whose support is told. Logs them, with a line a task. batch:
// questions a forward pass.
NamedValues evaluate_stories(const std::vector<std::string>& stores, const TrainedModel& source,
                             const ParallelConfig& parallel, int64_t batch, Group& world);

}  // namespace skein::train
