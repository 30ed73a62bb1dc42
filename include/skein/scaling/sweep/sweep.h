// Runs the cells of a sweep: one after the other, or by several trainers that take them from a
// queue, in one job or in many.
//
// The folder, run.dir of the sweep:
//   config.ini        the options of the latest start
//   results.csv, curves.csv, results.h5
//                     all cells so far, in the order of the design; whole at any time
//   cells/NAME/       a pretraining run, with beside it
//     settings.json   what the cell was begun with, but for what cannot change its result (layout,
//                     folders, checkpoints)
//     claim           locked (flock) by whoever trains the cell; the lock goes with the process, so
//                     that a dead one's cell is free
//     result.json     how it ended: done, diverged or failed
//     failed.json     how it failed in an earlier start, until it ends again
//     begun.json      while it is trained: how often a process has been killed at it with no more
//                     than the checkpoint it has
//     refused-checkpoints/
//                     until it has a result: those of its checkpoints that it had to do without
//   stop              a file that asks all trainers of all jobs to end after the cells they are at;
//                     the last job removes it
//   jobs.lock         shared (flock) by all jobs at work here
//   results.lock      locked by whoever writes the tables
#pragma once

#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/scaling/sweep/design.h"

namespace skein::scaling::sweep {

struct SweepResult {
  std::vector<ScalingRun> runs;  // of the design, in its order, as the folder tells them
  int64_t trained = 0;           // cells that this job has brought to an end
  bool stopped = false;          // as asked; the cells under way have committed checkpoints
  int64_t count(const std::string& status) const;
};

// With what is left open: the vocabulary is the tokenizer's, sizes of pictures, graphs and stories
// are the data's, the precision the device's. A usage error without held-out data, and for
// encoder-decoders.
SweepConfig settled(SweepConfig config);

// Collective. The world is divided into trainers of config.ranks_per_run ranks; each takes the
// largest cell that is neither finished nor claimed, until there is none. Cells that are done or
// have diverged stay as they are; one that failed is tried again once a start, after the others.
// The rows are the same whatever the number of ranks and trainers, but for `seconds`. A cell that
// diverges, or fails on all ranks of its trainer, is told and kept, and the others go on, unless
// config.fail_fast. A rank that fails alone while the others of its trainer wait for it in an
// exchange marks the cell and ends the job: Error(failure) says where and why. A cell whose
// checkpoints are all damaged begins anew. A usage error before anything is run when a cell cannot
// be as it is asked for, or was begun with other settings or other data, naming the first that
// differs, and when the data cannot be opened, if only by one rank. config: settled().
SweepResult run_sweep(const SweepConfig& config, Group& world, const std::string& resolved = "");

// Collective. The cells as a table, with a forecast of their time: at config.flops_per_second of
// each trainer, or as measured here on the smallest and the largest model.
std::string forecast_text(const SweepConfig& config, Group& world);

}  // namespace skein::scaling::sweep
