// What a sweep is made of beside its running.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/scaling/sweep/design.h"

#include "cell_folder.h"

namespace skein::scaling::sweep {

// What `run`, one of the sweep's, learns and is judged by; completes it by what the data say.
std::unique_ptr<train::Task> task_of(const SweepConfig& config, train::PretrainConfig& run);
// Options of a run as it is to be bound: with those of what its model reads.
void bind_run(Options& options, train::PretrainConfig& run, SweepConfig& config);

// The design's, after its warnings were told and every cell was found to fit the trainers. task:
// of config.run.
std::vector<SweepCell> checked_cells(const SweepConfig& config, const train::Task& task,
                                     Group& world);
// A cell's, as its outcome tells it; line: of the table.
ScalingRun row_of(const SweepCell& cell, CellOutcome outcome, int64_t line);
// Why the outcome's loss counts as diverged, or "": it is not finite; of texts also where it is
// above the ln V of all tokens alike, or rose by more than 0.1 nats from its lowest to above what
// the frequencies of the held-out tokens alone give. Labels learnt by heart are no divergence.
std::string divergence(const CellOutcome& outcome, const train::PretrainConfig& run);
// How often a cell is judged by held-out data, at its last step too.
int64_t evaluations_of(const SweepCell& cell);
// FLOPs of a cell's evaluations, of so many tokens each: forward alone is a third of a step.
double evaluation_work(const SweepCell& cell, double held_out_tokens);

}  // namespace skein::scaling::sweep
