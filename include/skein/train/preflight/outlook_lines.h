// The lines of an outlook, for whatever a run learns.
#pragma once

#include <cstdint>
#include <string>

#include "skein/comm/mesh.h"
#include "skein/models/config.h"
#include "skein/parallel/layout.h"
#include "skein/parallel/rank_memory.h"
#include "skein/train/config.h"

namespace skein::train {

// Collective over world. FLOP/s of all ranks together, of products as those of the model's
// feed-forward layers, timed now for a third of a second.
double measured_rate(const PretrainConfig& config, Group& world);

// "gpt, 12 blocks of width 768, ...".
std::string model_text(const ModelConfig& model, const PretrainConfig& config);
std::string layout_line(const MeshShape& sizes, const BatchPlan& plan);
// Collective over world. A line for ranks in a row that need as much, to one in a hundred, "1.2 GiB
// = values 400 MiB + ...", and what there is.
std::string memory_lines(const RankMemory& own, const PretrainConfig& config, Group& world);
// Of checkpoints of so many bytes. Warns where more may be written than is free; errors where the
// run's folder could not be made.
std::string disk_line(const PretrainConfig& config, double checkpoint);
// step: "a step". left: steps.
std::string time_line(double seconds, const std::string& step, int64_t left, double rate,
                      int ranks);

}  // namespace skein::train
