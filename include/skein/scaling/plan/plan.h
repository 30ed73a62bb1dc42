// From a budget to a decision: how large a model, how long, with which settings, on which machine,
// for how much.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "skein/parallel/rank_memory.h"
#include "skein/scaling/fit/fit.h"
#include "skein/scaling/laws/shape.h"
#include "skein/scaling/study/trained_with.h"
#include "skein/train/config.h"

namespace skein::scaling::plan {

// What the run is to be made on. Numbers are those of one device; 0: unknown.
struct Machine {
  std::string kind;  // of machine_kinds(); "": as told below
  int64_t count = 1;
  int64_t per_host = 8;  // devices that share a host: the most tensor-parallel ranks
  double peak = 0;       // FLOP/s
  double share = 0.4;    // of the peak that model FLOPs are expected to reach
  // the range that run time is told for; 0: three quarters and five quarters of share
  double share_low = 0, share_high = 0;
  double memory = 0;  // GiB
  double price = 0;   // an hour, in any currency
  double watts = 0;   // while at work
  double pue = 1;     // energy of the whole building over that of the devices
  double carbon = 0;  // g CO2 of a kWh
  DeviceKind device = DeviceKind::cuda;

  double low() const { return share_low > 0 ? share_low : 0.75 * share; }
  double high() const { return share_high > 0 ? share_high : std::min(1.0, 1.25 * share); }
};

// Data-sheet numbers: bf16 without sparsity, board power.
struct MachineKind {
  std::string name;
  double peak = 0, memory = 0, watts = 0;
  std::string source;
};
const std::vector<MachineKind>& machine_kinds();
// The same with what its kind says instead of 0. Usage errors for numbers that cannot be, and for
// an unknown kind.
Machine settled(const Machine& machine);
// Binds section machine.
void bind(Options& options, Machine& machine);

// The law that a plan goes by.
struct PlanLaw {
  std::string name, source;         // "chinchilla", the paper; or the fit's file
  Convention convention;            // what its N and C count
  PowerLaw flops_per_token{6, 1};   // C / D as a power of N, in its counts
  fit::ParametricFit fit;           // draws: empty where there are no intervals
  fit::Interval n_exponent;         // of N* over C
  std::string intervals;            // where they are from, or why there are none
  double largest_flops = kUnknown;  // of the runs it was fitted to
  double r_d = DataLimitedLaw{}.r_d, r_n = DataLimitedLaw{}.r_n;  // of data seen again
  std::string repeats;                                            // where these two are from
  std::optional<study::RunSettings> trained_with;  // of the runs of a fit; none: it does not say
  // Kaplan et al. (2020): N* = 1.3e9 (C / PF-day)^.73 of the blocks, and kaplan_loss
  bool kaplan = false;
};
// Of published_laws(). A usage error that lists them for another name. Draws has
// chinchilla-replication alone: the others were published without what intervals of N*, D* and the
// loss would need.
PlanLaw published_plan_law(const std::string& name);
// For the replication, whose authors give standard errors but not how they hang together: `count`
// draws of a normal distribution with mean and covariance of 4,000 bootstrap fits of least absolute
// errors to the same 240 runs.
std::vector<ChinchillaLaw> replication_draws(int64_t count);
// Of the JSON of `skein fit`. A usage error where its fit has not converged, or names no best size
// for a budget.
PlanLaw fitted_plan_law(const std::string& path);
// L = (Nc/N)^aN + (Sc/S_min)^aS with aN .077, aS .76, Nc 6.5e13, Sc 2.1e3, and S_min from C = 6 N
// B_crit S_min, B_crit = 2e8 L^-4.76 tokens (Kaplan et al., "Scaling laws for neural language
// models", 2020, equation 1.6 and table 3), solved for L.
double kaplan_loss(double blocks, double flops);

struct PlanOptions {
  // what a user says of either: "1e22", "5e20 FLOPs", "5000h", "5000 GPU-hours", "200 GPU-days";
  // "": what stands below
  std::string budget_text;
  double budget = 0;     // FLOPs
  double gpu_hours = 0;  // or hours of devices at the machine's share of its peak
  // or what `model`, whose layers, width and heads are then given, takes on so many tokens
  double train_tokens = 0;
  std::string law = "chinchilla-replication";
  std::string fit;  // JSON of `skein fit` instead of law
  // that there are; more than that are seen again (Muennighoff et al., 2023); 0: enough
  double tokens = 0;
  // One of hyperparameter_rules(), or fit: as the runs behind `fit` had it, by what did best among
  // them where they differ, else by their own rule. "": fit where it knows one, else step_law.
  std::string lr_rule, batch_rule;
  int64_t d_head = 0;  // 0: 128 from 4e8 parameters on, 64 from 1e7, 32 from 1e6, else 16
  // width / layers; 0: 100 from 4e8 parameters on, else 64 (as the models of Hoffmann et al., 2022,
  // table A9)
  double aspect = 0;
  ModelConfig model;  // all but layers, width and heads, unless train_tokens are given
  Machine machine;
};
// Decoders of today: rotary positions, RMS norms, no biases, 32,000 tokens, 2,048 of them in a
// sequence.
PlanOptions plan_defaults();
// Binds sections plan, machine and model.
void bind(Options& options, PlanOptions& plan);

// What so many FLOPs take. Low and high: at the ends of the machine's share; unknown where a number
// is missing.
struct Cost {
  fit::Interval seconds, device_hours, price, kwh, co2_kg;
};
Cost cost_of(double flops, const Machine& machine);

// A model and how long it is trained.
struct Proposal {
  ModelConfig model;
  ModelCounts counts;
  double n = kUnknown;                         // as the law counts
  double tokens = kUnknown, flops = kUnknown;  // unknown: no number of tokens will do
  // over the law's draws, where the tokens follow from a loss; low or high unknown: not in a
  // thousand times the tokens
  fit::Interval tokens_needed;
  double epochs = 1;  // passes over the unique tokens
  fit::Interval loss;
  fit::Interval penalty;  // its loss less that of the proposal
  Cost cost;
};

// How its ranks share the work and what one of them keeps.
struct Layout {
  ParallelConfig parallel;
  int64_t global_batch = 0, micro_batch = 0;  // sequences
  RankMemory memory;                          // of one device
  double bytes() const { return memory.total(); }
  bool fits = true;
  int64_t devices() const { return int64_t{parallel.pipeline} * parallel.data * parallel.tensor; }
};

// What one rule makes of the proposal.
struct RuleSettings {
  std::string rule;
  Hyperparameters settings;
};

// What one published law makes of the budget, in its own counts.
struct LawOptimum {
  std::string law;
  ParameterCount counts = ParameterCount::all;
  Optimum best;
};

struct Plan {
  PlanOptions options;  // rules named
  PlanLaw law;
  double flops = 0;          // the budget
  double beyond = kUnknown;  // over the largest run that was fitted
  // of the law in its own counts, without a look at shapes or at how many tokens there are
  fit::Interval best_n, best_d, best_ratio, best_loss;
  Proposal proposal;
  // 1/4, 1/2, 2 and 4 times the parameters: for the same FLOPs; trained until the loss is the
  // proposal's (the predicted one, and in each draw of the law that draw's); on the same tokens.
  std::vector<Proposal> same_flops, same_loss, same_tokens;
  Hyperparameters settings;               // lr by its rule, batch_tokens by its own
  std::string lr_origin, batch_origin;    // these rules, in words
  std::vector<RuleSettings> other_rules;  // those that apply
  std::vector<LawOptimum> other_laws;
  Layout layout;
  Machine machine;  // options.machine, with the devices that the layout puts to work
  int64_t steps = 0;
  double warmup_tokens = 0;  // the least of N and a twentieth of all
  std::vector<std::string> warnings;
};

// With train_tokens: the given model on those. Else the shape whose predicted loss is least among
// those around the law's optimum, its tokens being what is left of the budget at the model's exact
// FLOPs (Kaplan's law: the shape nearest to his N*). Usage errors for what is missing or cannot be.
Plan make_plan(const PlanOptions& options);

// Of ranks pipeline x data x tensor = count, or fewer where none share out all devices, data and
// tensor powers of two, pipeline at most the layers, the layout whose parameters (16-bit: 18 bytes
// each, of which ZeRO divides 12; 32-bit: 16 and 8) and activations (nn/cost.h) leave a tenth
// of the memory, at the least loss of time by this reckoning: recomputing a third more, 5% for each
// doubling of tensor-parallel ranks, (p - 1) / m of a pipeline of p stages and m micro-batches,
// devices at rest, and a batch above 1.5 times batch_tokens as often as it is that.
Layout lay_out(const ModelConfig& model, const Machine& machine, double batch_tokens);

// Why no layout fits; "" where one does.
std::string layout_problem(const Plan& plan);

std::string plan_text(const Plan& plan);
// null for what is unknown, 17 digits.
std::string plan_json(const Plan& plan);
// INI for `skein pretrain --config`: what differs from its defaults. data.train is left to the
// user. A usage error where no layout fits.
std::string plan_config(const Plan& plan);

}  // namespace skein::scaling::plan
