// One training run of a GPT at any pipeline × data × tensor layout.
#pragma once

#include <string>

#include "skein/core/options.h"
#include "skein/data/loader.h"
#include "skein/models/gpt.h"
#include "skein/parallel/schedule.h"
#include "skein/train/lr.h"
#include "skein/train/optimizer.h"

namespace skein {

struct ParallelConfig {
  int pipeline = 1;
  int tensor = 1;
  int data = 0;          // 0: the ranks that are left
  int chunks = 1;        // model pieces a pipeline rank
  bool sequence = false;
  bool zero = false;
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  Recompute recompute = Recompute::none;
  int64_t reduction_groups = 0;  // 0: the largest power of two up to 8 that divides the global batch
  std::vector<int64_t> layers;   // blocks of each piece; empty: even
};

struct TrainConfig {
  int64_t steps = 100;
  int64_t global_batch = 8;  // sequences
  int64_t micro_batch = 1;
  uint64_t seed = 1;
  int64_t log_every = 10;
};

struct PretrainConfig {
  GptConfig model;
  ParallelConfig parallel;
  TrainConfig train;
  LrConfig lr;
  OptimizerConfig optimizer;
  DataConfig data;
};

void bind(Options& options, PretrainConfig& config);

struct TrainResult {
  std::vector<double> losses;  // mean of each step, nats a token
  double validation_loss = 0;  // 0 without validation data
};

// Collective over world. Usage errors say what does not fit, with both numbers.
TrainResult pretrain(PretrainConfig config, Group& world);

}  // namespace skein
