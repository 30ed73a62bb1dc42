// Runs the cells of a sweep: one after the other, or by several trainers that take them from a queue, in one job or in many.
//
// The folder, run.dir of the sweep:
//   config.ini           the options of the latest start
//   results.csv, curves.csv, results.h5   all cells so far, in the order of the design; whole at any time
//   cells/NAME/          a pretraining run, with beside it
//     settings.json      what the cell was begun with, but for what cannot change its result (layout, folders, checkpoints)
//     claim              locked (flock) by whoever trains the cell; the lock goes with the process, so that a dead one's cell is free
//     result.json        how it ended: done, diverged or failed
//   stop                 a file that asks all trainers to end after the cells they are at
#pragma once

#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/scaling/design.h"

namespace skein {

struct SweepResult {
  std::vector<ScalingRun> runs;  // of the design, in its order, as the folder tells them
  int64_t trained = 0;           // cells that this job has brought to an end
  bool stopped = false;          // as asked; the cells under way have committed checkpoints
  int64_t count(const std::string& status) const;
};

// The vocabulary, which is the tokenizer's unless it is given. A usage error without held-out data.
SweepConfig settled(SweepConfig config);

// Collective. The world is divided into trainers of config.ranks_per_run ranks; each takes the largest cell that is neither finished nor
// claimed, until there is none. Cells that are done or have diverged stay as they are; one that failed is tried again once a start. The rows
// are the same whatever the number of ranks and trainers, but for `seconds`. A cell that fails or diverges is told and kept, and the others
// go on, unless config.fail_fast. A usage error before anything is run when a cell cannot be as it is asked for, or was begun with other
// settings, naming the first that differs.
SweepResult run_sweep(const SweepConfig& config, Group& world, const std::string& resolved = "");

// Collective. The cells as a table, with a forecast of their time: at config.flops_per_second of each trainer, or as measured here on the
// smallest and the largest model.
std::string forecast_text(const SweepConfig& config, Group& world);

}  // namespace skein
