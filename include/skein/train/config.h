// Everything a pretraining run is told.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/noise/noise.h"
#include "skein/data/samples/loader.h"
#include "skein/data/samples/masking.h"
#include "skein/models/config.h"
#include "skein/parallel/layout.h"
#include "skein/parallel/precision.h"
#include "skein/train/evaluate.h"
#include "skein/train/optim/loss_scale.h"
#include "skein/train/optim/lr.h"
#include "skein/train/optim/optimizer.h"
#include "skein/train/watch/spikes.h"

namespace skein::train {

struct TrainConfig {
  int64_t steps = 100;
  int64_t global_batch = 8;  // sequences
  int64_t micro_batch = 1;
  bool micro_batch_open = false;  // nobody gave it: what is left of it fits the reduction groups
  uint64_t seed = 1;
  // of parameters and activations; with bf16 and f16 the optimizer keeps f32 copies
  Precision precision;
  LossScaleConfig loss_scale;  // for f16
  int64_t max_skipped = 3;     // steps in a row without a finite gradient before the run gives up
  int64_t frozen_layers = -1;  // the embeddings and so many blocks do not learn; -1: all learns
};

struct RunConfig {
  std::string dir;       // everything the run writes; "": nothing is written
  bool restart = false;  // begin anew where dir holds checkpoints of which none can be used
  int64_t log_every = 10;
  double peak_flops = 0;  // FLOP/s of the whole job, to show the share reached; 0: not shown
  bool tensorboard = true;
  int64_t profile = 0;    // steps whose work is written to profile.json; 0: none
  int64_t takeover = 60;  // seconds to wait for an older start of the run that lives; 0: not at all
  int64_t check_replicas = 10;  // steps between comparisons of what ranks hold alike; 0: none
  std::string id;               // the run's; "": the folder's, or a new one at random
  bool dry_run = false;         // what the run would be, instead of it
  int64_t stop_at = 0;  // no option: after this step the run stops as if it was asked to; 0: none
  // no option: the caller has compared the token stores with their sums
  bool data_compared = false;
  std::chrono::milliseconds data_wait{
      10'000};  // no option: for that comparison, where a run is stopped
};

struct CheckpointConfig {
  int64_t every = 500;  // steps; 0: none by steps
  double minutes = 0;   // of the clock, beside those; 0: none
  // of the whole job, in hours: commits are as far apart as costs least; 0: unknown
  double mean_time_between_failures = 0;
  std::optional<bool> async;  // written beside training; nothing: where a GPU trains
  int64_t keep = 2;
  std::string load;  // checkpoint to begin from when run.dir holds none
  bool weights_only = false;
  bool other_data = false;  // goes on although files under the same names are others than they were
};

struct ValidationConfig {
  int64_t every = 100;  // steps; 0: only at the end
  EvalConfig eval{256, 0};
  int64_t points = 0;  // evaluations beside those, at evaluation_steps
  // evaluations in a row without a better one after which the run ends; 0: never
  int64_t patience = 0;
};

// `points` steps of a run of `steps`, evenly spaced in ln step from 1/200 of the run to its end,
// each once. None for 0.
std::vector<int64_t> evaluation_steps(int64_t points, int64_t steps);

// Of losses over a vocabulary.
struct LossConfig {
  double label_smoothing = 0;  // share of each target that training spreads evenly over all ids
};

struct PretrainConfig {
  ModelConfig model;
  ParallelConfig parallel;
  TrainConfig train;
  LrConfig lr;
  OptimizerConfig optimizer;
  SpikeConfig spikes;
  LossConfig loss;
  data::DataConfig data;
  data::MaskConfig mlm;
  data::NoiseConfig noise;
  ValidationConfig validation;
  CheckpointConfig checkpoint;
  RunConfig run;

  // What train.precision means on parallel.device.
  DType precision() const { return precision_on(parallel.device, train.precision); }
};

// Defaults of runs that begin from another task's model. What follows from the data is left open:
// train.steps 0, lr.warmup -1, validation.every -1.
struct AdaptingDefaults {
  std::string dir;
  int64_t global_batch = 16;
  double lr = 0;
  LrConfig::Decay decay = LrConfig::Decay::linear;
};
PretrainConfig adapting_defaults(const AdaptingDefaults& defaults);
// Throws usage errors for options that are impossible for any run by so many ranks, whatever its
// data and its checkpoints say. To be called before the run is claimed, because that ends an older
// start.
void check_start(const PretrainConfig& config, int ranks);
// Throws usage errors for options that are impossible for rows of `length` tokens, with the
// option's name and value.
void check_run(const PretrainConfig& config, int64_t length);
// Usage errors for what parallel.cuda_graph cannot record: models, losses and layouts.
void check_recording(const PretrainConfig& config, int ranks);
// The options with what follows from others of them, and these checks. Before the run is claimed,
// so that it ends no older start. validates: whether there is data for it.
PretrainConfig checked_start(const PretrainConfig& given, int64_t length, bool validates,
                             int ranks);
// Binds all options of a run that begins from another task's model, but for those of its data.
void bind_adapting(Options& options, PretrainConfig& config);

void bind(Options& options, TrainConfig& config);
// Section "loss"; a task that learns tokens binds it.
void bind(Options& options, LossConfig& config);
void check(const LossConfig& config);
void bind(Options& options, RunConfig& config);
void bind(Options& options, CheckpointConfig& config);
void bind(Options& options, ValidationConfig& config);
void bind(Options& options, data::DataConfig& config);
void bind(Options& options, PretrainConfig& config);

}  // namespace skein::train
