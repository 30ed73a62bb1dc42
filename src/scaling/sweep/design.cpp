#include "skein/scaling/sweep/design.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "skein/core/error.h"
#include "skein/models/architecture.h"

#include "design_specs.h"

namespace skein::scaling::sweep {
namespace {

constexpr double kMostBudgetError = 0.02;
constexpr size_t kMostCells = 100'000;
constexpr double kMostRunSteps = 1e12;

bool by_formula(const std::string& rule) {
  return std::ranges::count(hyperparameter_rules(), rule) > 0;
}

void check_base(const SweepConfig& c) {
  const int64_t width = c.base_width, mup = c.run.model.mup_base_width;
  require(
      width > 0 || (c.lr_rule != "width" && c.lr_rule != "mup") || (c.lr_rule == "mup" && mup > 0),
      "sweep.lr_rule={} needs sweep.base_width, the d_model that the rates are for", c.lr_rule);
  require(c.lr_rule != "mup" || width == 0 || mup == 0 || width == mup,
          "sweep.base_width={} and model.mup_base_width={} are both the width of muP's base; give "
          "one of them",
          width, mup);
  require(c.lr_rule != "width" || mup == 0,
          "sweep.lr_rule=width makes rates smaller with the width, and model.mup_base_width={} "
          "does so once more; take sweep.lr_rule=mup",
          mup);
}

void check_rules(const SweepConfig& c) {
  require(
      c.lr_rule == "fixed" || c.lr_rule == "width" || c.lr_rule == "mup" || by_formula(c.lr_rule),
      "sweep.lr_rule={} is unknown; there are fixed, width, mup, {}", c.lr_rule,
      fmt::join(hyperparameter_rules(), ", "));
  require(c.batch_rule == "fixed" || (by_formula(c.batch_rule) && c.batch_rule != "kaplan"),
          "sweep.batch_rule={} is unknown; there are fixed, porian, deepseek and step_law",
          c.batch_rule);
  check_base(c);
  require(c.lr.empty() || !by_formula(c.lr_rule),
          "sweep.lr={} contradicts sweep.lr_rule={}, which gives the rate; use sweep.lr_factor",
          fmt::join(c.lr, ","), c.lr_rule);
  require(c.batch.empty() || c.batch_rule == "fixed",
          "sweep.batch={} contradicts sweep.batch_rule={}, which gives the batch",
          fmt::join(c.batch, ","), c.batch_rule);
  require(c.lr_factor > 0 && std::isfinite(c.lr_factor), "sweep.lr_factor={} must be above 0",
          c.lr_factor);
  require(c.warmup >= 0 && c.warmup < 1 && c.cooldown >= 0 && c.warmup + c.cooldown <= 1,
          "sweep.warmup={} and sweep.cooldown={} are shares of a run: at least 0, below 1 together",
          c.warmup, c.cooldown);
}

// What every cell has its own of, so that a common value would be silently ignored.
void check_common(const SweepConfig& c) {
  const train::PretrainConfig defaults;
  const train::PretrainConfig& run = c.run;
  require(
      run.train.steps == defaults.train.steps,
      "train.steps={} says nothing to a sweep: a cell's steps follow from its tokens; leave it out",
      run.train.steps);
  require(run.lr.warmup == defaults.lr.warmup && run.lr.decay_end == 0 && run.lr.cooldown == 0 &&
              run.lr.unit == train::LrConfig::Unit::steps,
          "lr.warmup, lr.decay_end, lr.cooldown and lr.unit follow from each cell's length; use "
          "sweep.warmup and sweep.cooldown");
  require(run.lr.decay != train::LrConfig::Decay::noam,
          "lr.decay=noam finds its own rates, but a sweep gives each cell one; use inverse_sqrt");
  resolved(run.lr, run.model.d_model);  // refuses what changes nothing
  require(run.model.architecture->fills_masks(run.model) || run.mlm == data::MaskConfig{},
          "mlm.* is for encoders that fill in masked tokens, but models of model.architecture={} "
          "fill in none; leave it out",
          run.model.architecture->name());
  require(run.noise == data::NoiseConfig{},
          "noise.* is for encoder-decoders that restore noised token stores, of which there are no "
          "sweeps; leave it out");
  require(run.checkpoint.load.empty(),
          "checkpoint.load={}: the cells of a sweep begin anew; leave it out", run.checkpoint.load);
  require(run.validation.patience == 0,
          "validation.patience={} would end cells before their last token; leave it out",
          run.validation.patience);
  require(run.lr.lr > 0, "lr.lr={} must be above 0", run.lr.lr);
}

// Seen and compared as text, so with few digits.
double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

double rate_of(const SweepConfig& c, const CellSpec& spec, const ModelCounts& counts) {
  if (by_formula(c.lr_rule))
    return rounded(c.lr_factor * hyperparameters(c.lr_rule, counts, spec.tokens).lr);
  const double given = spec.lr > 0 ? spec.lr : c.run.lr.lr;
  return c.lr_rule == "width" ? rounded(given * c.base_width / spec.model.d_model) : given;
}

// Multiples of 4 sequences by a formula, so that up to 4 data-parallel ranks can share them.
int64_t sequences_of(const SweepConfig& c, const CellSpec& spec, const ModelCounts& counts) {
  const double context = spec.model.context;
  if (c.batch_rule != "fixed") {
    const double wanted = hyperparameters(c.batch_rule, counts, spec.tokens).batch_tokens;
    return std::max<int64_t>(4, std::llround(wanted / context / 4) * 4);
  }
  return spec.batch > 0 ? std::max<int64_t>(1, std::llround(spec.batch / context))
                        : c.run.train.global_batch;
}

void set_batch(train::PretrainConfig& run, int64_t sequences) {
  run.train.global_batch = sequences;
  int64_t& groups = run.parallel.reduction_groups;
  if (groups == 0)
    for (groups = 4; sequences % groups != 0;) groups /= 2;
  const int64_t share = std::max<int64_t>(1, sequences / groups);
  int64_t& micro = run.train.micro_batch;
  micro = std::clamp<int64_t>(micro, 1, share);
  while (share % micro != 0) --micro;
}

void set_schedule(const SweepConfig& c, train::PretrainConfig& run, double lr,
                  const ModelCounts& counts) {
  run.lr.min_lr = rounded(lr * (c.run.lr.min_lr / c.run.lr.lr));
  run.lr.start_lr = rounded(lr * (c.run.lr.start_lr / c.run.lr.lr));
  run.lr.lr = lr;
  const double steps = run.train.steps, batch = run.train.global_batch * run.model.context;
  const double warmup = std::min(counts.all / batch, c.warmup * steps);
  run.lr.warmup = c.warmup > 0 ? std::max<int64_t>(1, std::llround(warmup)) : 0;
  if (run.lr.decay == train::LrConfig::Decay::wsd)
    run.lr.cooldown = std::max<int64_t>(1, std::llround(c.cooldown * steps));
}

Settings rules_of(const SweepConfig& c) {
  return {{"sweep.lr_rule", c.lr_rule},
          {"sweep.lr_factor", fmt::format("{}", c.lr_factor)},
          {"sweep.base_width", fmt::format("{}", c.base_width)},
          {"sweep.batch_rule", c.batch_rule}};
}

SweepCell cell_of(const SweepConfig& c, const CellSpec& spec) {
  SweepCell cell;
  cell.run = c.run;
  cell.run.run.dir.clear();
  cell.run.model = spec.model;
  cell.run.train.seed = spec.seed;
  cell.counts = counts_of(spec.model);
  require(spec.lr == 0 || !by_formula(c.lr_rule),
          "sweep.lr_rule={} gives the learning rates; leave out the column lr", c.lr_rule);
  require(spec.batch == 0 || c.batch_rule == "fixed",
          "sweep.batch_rule={} gives the batches; leave out the column batch", c.batch_rule);
  const double lr = rate_of(c, spec, cell.counts);
  set_batch(cell.run, sequences_of(c, spec, cell.counts));
  const double batch = cell.batch_tokens();
  const double steps = std::max(1.0, std::round(spec.tokens / batch));
  require(steps <= kMostRunSteps, "{:.3g} tokens are {:.3g} steps of {} tokens, which no run makes",
          spec.tokens, steps, batch);
  cell.run.train.steps = static_cast<int64_t>(steps);
  set_schedule(c, cell.run, lr, cell.counts);
  cell.tokens = steps * batch;
  cell.flops = cell.counts.flops_per_token * cell.tokens;
  cell.budget = spec.budget;
  cell.budget_flops = flops_per_token(cell.counts, c.flops) * cell.tokens;
  cell.rules = rules_of(c);
  cell.name = fmt::format("{}x{}-{}x{}-lr{}-s{}", spec.model.n_layers, spec.model.d_model,
                          cell.run.train.steps, cell.batch_tokens(), cell.run.lr.lr, spec.seed);
  return cell;
}

void warn_of(const SweepCell& cell, double wanted, std::vector<std::string>& warnings) {
  const double missed =
      cell.budget > 0 ? cell.budget_flops / cell.budget - 1 : cell.tokens / wanted - 1;
  if (std::abs(missed) <= kMostBudgetError) return;
  warnings.push_back(fmt::format(
      "{}: its whole steps make {:.4g} {}, {:+.1f}% off the {:.4g} asked for; take a smaller batch",
      cell.name, cell.budget > 0 ? cell.budget_flops : cell.tokens,
      cell.budget > 0 ? "FLOPs" : "tokens", 100 * missed, cell.budget > 0 ? cell.budget : wanted));
}

}  // namespace

double flops_per_token(const ModelCounts& counts, FlopCount count) {
  if (count == FlopCount::six_n) return 6 * counts.all;
  return count == FlopCount::six_n_head ? 6 * (counts.blocks + counts.head)
                                        : counts.flops_per_token;
}

SweepDesign make_design(const SweepConfig& config) {
  check_rules(config);
  check_common(config);
  SweepConfig c = config;
  if (c.lr_rule == "mup" && c.base_width > 0) c.run.model.mup_base_width = c.base_width;
  const std::vector<CellSpec> specs = cell_specs(c);
  require(!specs.empty() && specs.size() <= kMostCells,
          "the sweep has {} cells; there must be 1 to {}", specs.size(), kMostCells);
  SweepDesign made;
  std::set<std::string> names;
  for (const CellSpec& spec : specs) {
    SweepCell cell = cell_of(c, spec);
    if (!names.insert(cell.name).second) {
      made.warnings.push_back(
          cell.name + " is asked for twice, or two sizes have the same shape; it is run once");
      continue;
    }
    warn_of(cell, spec.tokens, made.warnings);
    made.cells.push_back(std::move(cell));
  }
  return made;
}

}  // namespace skein::scaling::sweep
