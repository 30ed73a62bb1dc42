#include <charconv>
#include <cmath>

#include "skein/core/error.h"
#include "skein/scaling/sweep/design.h"

namespace skein::scaling::sweep {
namespace {

void bind_design(Options& options, SweepConfig& c) {
  using Kind = SweepConfig::Kind;
  options.add_choice(
      "sweep.kind", c.kind,
      {{"grid", Kind::grid}, {"list", Kind::list}, {"isoflop", Kind::isoflop}},
      "grid: all combinations; list: the rows of a file; isoflop: budgets of FLOPs over sizes");
  options.add("sweep.sizes", c.sizes,
              "block parameters of the models, as 1e6,2.5M; shapes follow by sweep.d_head and "
              "sweep.aspect");
  options.add("sweep.shapes", c.shapes, "or their shapes, each LAYERSxWIDTH");
  options.add("sweep.tokens", c.tokens, "tokens to train on");
  options.add("sweep.tokens_per_parameter", c.tokens_per_parameter,
              "or tokens for each of all parameters");
  options.add("sweep.lr", c.lr, "learning rates; empty: lr.lr");
  options.add("sweep.batch", c.batch, "tokens a step; empty: train.global_batch sequences");
  options.add("sweep.seeds", c.seeds, "seeds of all cells; empty: train.seed");
  options.add("sweep.repeat_seeds", c.repeat_seeds,
              "further seeds of the cells that repeat_shapes and repeat_budgets name");
  options.add("sweep.repeat_shapes", c.repeat_shapes,
              "shapes that get these seeds, each LAYERSxWIDTH; empty: all at repeat_budgets");
  options.add("sweep.repeat_budgets", c.repeat_budgets,
              "isoflop: budgets at which they get them; empty: all");
  options.add("sweep.list", c.list,
              "CSV file of kind list, with columns size or shape, tokens or tokens_per_parameter, "
              "lr, batch, seed");
  options.add("sweep.budgets", c.budgets, "isoflop: FLOPs of a run");
  options.add_choice("sweep.flops", c.flops,
                     {{"exact", FlopCount::exact},
                      {"six_n", FlopCount::six_n},
                      {"six_n_head", FlopCount::six_n_head}},
                     "isoflop: how a token's FLOPs are counted: all that is computed, 6 (all "
                     "parameters), or 6 (blocks and head)");
  options.add("sweep.sizes_per_budget", c.sizes_per_budget,
              "isoflop: sizes around each budget's centre, in place of sweep.sizes");
  options.add("sweep.spread", c.spread, "isoflop: factor between neighbouring sizes");
  options.add("sweep.centre_ratio", c.centre_ratio,
              "isoflop: tokens a parameter at the centre, N = sqrt(C / (6 ratio))");
  options.add("sweep.centres", c.centres,
              "isoflop: block parameters at the centre of each budget, in place of that formula");
}

void bind_rules(Options& options, SweepConfig& c) {
  options.add("sweep.d_head", c.shape.d_head, "width of a head; widths are its multiples");
  options.add("sweep.aspect", c.shape.aspect, "width / layers aimed at");
  options.add("sweep.least_heads", c.shape.least_heads, "fewest heads");
  options.add("sweep.most_layers", c.shape.most_layers, "most blocks");
  options.add("sweep.lr_rule", c.lr_rule,
              "learning rate by size: fixed, width (lr sweep.base_width / d_model), mup, kaplan, "
              "porian, deepseek, step_law");
  options.add("sweep.batch_rule", c.batch_rule, "batch by size: fixed, porian, deepseek, step_law");
  options.add("sweep.lr_factor", c.lr_factor,
              "what rates of kaplan, porian, deepseek and step_law are multiplied by");
  options.add(
      "sweep.base_width", c.base_width,
      "d_model that the rates of width and mup are for; with mup also model.mup_base_width");
  options.add("sweep.warmup", c.warmup,
              "share of a run for warm-up, unless a token a parameter is less");
  options.add("sweep.cooldown", c.cooldown, "share of a run for the final fall of lr.decay=wsd");
}

void bind_running(Options& options, SweepConfig& c) {
  options.add(
      "sweep.ranks_per_run", c.ranks_per_run,
      "ranks of a trainer; the world is divided into trainers, which take cells from a queue",
      "ranks");
  options.add("sweep.keep_weights", c.keep_weights, "finished cells keep their last checkpoint");
  options.add("sweep.fail_fast", c.fail_fast, "a cell that fails ends the sweep");
  options.add("sweep.dry_run", c.dry_run,
              "show the cells and how long they will take; --dry-run for short");
  options.add("sweep.verbose", c.verbose, "show the lines of each cell's own progress too");
  options.add("sweep.flops_per_second", c.flops_per_second,
              "of a trainer, for the forecast; 0: measured", "FLOP/s");
}

}  // namespace

SweepConfig sweep_defaults() {
  SweepConfig c;
  c.run.run.dir = "runs/sweep";
  c.run.run.tensorboard = false;
  c.run.checkpoint.every = 1000;
  c.run.checkpoint.keep = 1;
  c.run.validation.every = 0;
  c.run.validation.points = 24;
  c.run.validation.eval.windows = 0;
  return c;
}

void bind(Options& options, SweepConfig& c) {
  bind_design(options, c);
  bind_rules(options, c);
  bind_running(options, c);
  bind(options, c.run);
  bind(options, c.augment);
  bind(options, c.graphs);
  bind(options, c.stories);
}

double number_of(const std::string& text, const std::string& origin) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string suffix(rest, text.data() + text.size());
  const std::string known = "kMGT";
  const size_t power = suffix.empty() ? 0 : known.find(suffix) + 1;
  const bool good = error == std::errc() && suffix.size() <= 1 && (suffix.empty() || power != 0);
  if (good) value *= std::pow(1000.0, power);
  require(good && std::isfinite(value) && value > 0,
          "{}: \"{}\" is no number above 0; write it as 250000, 2.5e5 or 250k", origin, text);
  return value;
}

}  // namespace skein::scaling::sweep
