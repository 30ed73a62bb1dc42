// How well a model labels pictures.
#pragma once

#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/core/values.h"
#include "skein/parallel/layout.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// Collective. Returns the metrics of the stores' pictures, and logs them with the table of classes
// and what was said for them, where there are at most 20; of a model that says hidden patches its
// loss. batch: pictures a forward pass.
NamedValues evaluate_images(const std::vector<std::string>& stores, const TrainedModel& source,
                            const ParallelConfig& parallel, int64_t batch, Group& world);

}  // namespace skein::train
