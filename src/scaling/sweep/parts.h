// What a sweep is made of beside its running.
#pragma once

#include <vector>

#include "skein/comm/group.h"
#include "skein/scaling/sweep/design.h"

#include "cell_folder.h"

namespace skein::scaling::sweep {

// The design's, after its warnings were told and every cell was found to fit the trainers.
std::vector<SweepCell> checked_cells(const SweepConfig& config, Group& world);
// A cell's, as its outcome tells it; line: of the table.
ScalingRun row_of(const SweepCell& cell, CellOutcome outcome, int64_t line);
// Tokens that one evaluation looks at.
double held_out_tokens(const train::PretrainConfig& run);
// Why the outcome's loss counts as diverged, or "": it is not finite, above the ln V of all tokens
// alike, or it rose by more than 0.1 nats from its lowest to above what the frequencies of the
// held-out tokens alone give.
std::string divergence(const CellOutcome& outcome, int64_t vocab_size,
                       const data::DataConfig& data);
// How often a cell is judged by held-out data, at its last step too.
int64_t evaluations_of(const SweepCell& cell);
// FLOPs of a cell's evaluations, of so many tokens each: forward alone is a third of a step.
double evaluation_work(const SweepCell& cell, double held_out_tokens);

}  // namespace skein::scaling::sweep
