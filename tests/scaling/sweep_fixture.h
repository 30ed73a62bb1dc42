// A sweep of four models that takes a second.
#pragma once

#include "skein/scaling/laws/results_store.h"
#include "skein/scaling/sweep/sweep.h"

#include "train/train_fixture.h"

namespace skein::scaling {

inline sweep::SweepConfig tiny_sweep(const std::string& store, const std::string& dir) {
  sweep::SweepConfig c = sweep::sweep_defaults();
  c.shapes = {"1x8", "1x16"};
  c.tokens = {"2048", "4096"};
  c.batch = {"128"};
  c.shape.d_head = 8;
  c.run.model.context = 16;
  c.run.model.vocab_size = 64;
  c.run.data.train = c.run.data.validation = {store};
  c.run.validation.points = 6;
  c.run.train.micro_batch = 2;
  c.run.lr.lr = 1e-2;
  c.run.checkpoint.every = 5;
  c.run.run.dir = dir;
  return c;
}

// By threads, as one job.
inline sweep::SweepResult sweep_by(int ranks, const sweep::SweepConfig& config) {
  sweep::SweepResult made;
  run_ranks(ranks, [&](Group& world) {
    const sweep::SweepResult own = run_sweep(config, world, "resolved");
    if (world.rank() == 0) made = own;
  });
  return made;
}

// Results and curves of a sweep's folder, all but the seconds.
inline std::string table_without_seconds(const std::string& dir) {
  ScalingTable made = read_store(dir + "/results.h5");
  for (ScalingRun& run : made.runs) run.seconds = kUnknown;
  return table_csv(made.runs) + curves_csv(made.runs);
}

}  // namespace skein::scaling
