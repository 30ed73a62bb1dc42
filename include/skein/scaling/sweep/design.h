// Which runs a sweep makes, each with all its settings: a grid, a list, or the same budgets of
// FLOPs over a range of sizes (isoFLOP).
#pragma once

#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/scaling/laws/results.h"
#include "skein/scaling/laws/shape.h"
#include "skein/train/pretraining/pretraining_task.h"

namespace skein::scaling::sweep {

struct SweepConfig {
  enum class Kind { grid, list, isoflop };
  Kind kind = Kind::grid;
  // Numbers as text, so that 1e9, 10k and 2.5M can be said.
  std::vector<std::string> sizes;                 // block parameters
  std::vector<std::string> shapes;                // LAYERSxWIDTH; neither: the shape of `run.model`
  std::vector<std::string> tokens;                // to train on
  std::vector<std::string> tokens_per_parameter;  // instead of them: times all parameters
  std::vector<std::string> lr;                    // of rules fixed, width and mup; empty: run.lr.lr
  std::vector<std::string> batch;                 // tokens; empty: run.train.global_batch sequences
  std::vector<int64_t> seeds;                     // of all cells; empty: run.train.seed
  // Further seeds of some cells of a grid or an isoFLOP design, for the noise between seeds: those
  // of these shapes at these budgets.
  std::vector<int64_t> repeat_seeds;
  std::vector<std::string> repeat_shapes;   // LAYERSxWIDTH; empty: all
  std::vector<std::string> repeat_budgets;  // of isoflop; empty: all
  std::string list;                         // CSV file of kind list
  // isoflop: `sizes`, or around each budget's centre.
  std::vector<std::string> budgets;    // FLOPs
  FlopCount flops = FlopCount::exact;  // that a token costs: D = budget / FLOPs a token
  int64_t sizes_per_budget = 0;
  double spread = 1.6;               // between neighbouring sizes
  double centre_ratio = 20;          // tokens a parameter at the centre: N = sqrt(C / (6 ratio))
  std::vector<std::string> centres;  // block parameters by budget, instead of that formula
  ShapeRule shape;
  // fixed, width (lr base_width / d_model), mup, or one of hyperparameter_rules()
  std::string lr_rule = "fixed";
  std::string batch_rule = "fixed";  // fixed, or one of hyperparameter_rules() that says one
  double lr_factor = 1;              // of rates by a formula
  int64_t base_width = 0;            // of rules width and mup; 0 with mup: run.model.mup_base_width
  // share of a run; or as many tokens as the model has parameters, if that is less
  double warmup = 0.05;
  double cooldown = 0.2;  // share of a run; for lr.decay=wsd

  int64_t ranks_per_run = 1;
  bool keep_weights = false;
  bool fail_fast = false;
  bool dry_run = false;
  bool verbose = false;
  double flops_per_second = 0;  // of a trainer, for forecasts; 0: measured

  train::PretrainConfig run;       // of all cells
  data::AugmentConfig augment;     // of models that read pictures
  train::GraphTaskConfig graphs;   // of models that read graphs
  train::StoryTaskConfig stories;  // of models that read stories
};

// A pretraining run's, but one checkpoint kept, evaluations at 24 points on all held-out data, no
// TensorBoard files.
SweepConfig sweep_defaults();
// Sections sweep and those of pretraining, but for pairs of texts.
void bind(Options& options, SweepConfig& config);

struct SweepCell {
  std::string name;           // of its folder, unique: LAYERSxWIDTH-STEPSxBATCH-lrLR-sSEED
  train::PretrainConfig run;  // without run.dir
  ModelCounts counts;
  double budget = 0;                // FLOPs asked for; 0: none were
  double tokens = 0;                // whole steps
  double unique_tokens = kUnknown;  // of these; unknown until the data are opened
  double flops = 0;                 // exact
  double budget_flops = 0;          // as `budget` counts them
  Settings rules;  // sweep.lr_rule, lr_factor, base_width and batch_rule, by which it has its rate
                   // and batch

  int64_t batch_tokens() const { return run.train.global_batch * run.model.context; }
};

struct SweepDesign {
  std::vector<SweepCell> cells;       // in the order of the options, none twice
  std::vector<std::string> warnings;  // budgets missed by more than 2%, equal cells left out, ...
};

// What follows from the data, as the vocabulary or a picture's tokens, must be known in config.run.
// Steps are whole, the decay of the learning rate ends with the last one, lr.min_lr keeps its
// proportion to the rate, and a batch is summed in groups that do not depend on the ranks. Usage
// errors name the option.
SweepDesign make_design(const SweepConfig& config);

// "2.5M" as 2.5e6; a usage error naming `origin` unless it is a finite number above 0.
double number_of(const std::string& text, const std::string& origin);

}  // namespace skein::scaling::sweep
