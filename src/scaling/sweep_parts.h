// What a sweep is made of beside its running.
#pragma once

#include <vector>

#include "cell_folder.h"
#include "skein/comm/group.h"
#include "skein/scaling/design.h"

namespace skein {

// The design's, after its warnings were told and every cell was found to fit the trainers.
std::vector<SweepCell> checked_cells(const SweepConfig& config, Group& world);
// One for each cell, as its folder tells it.
std::vector<ScalingRun> rows(const std::vector<SweepCell>& cells, const std::vector<CellFolder>& folders);
// Of a cell's training and its evaluations.
double work_of(const SweepCell& cell, double held_out_tokens);

}  // namespace skein
