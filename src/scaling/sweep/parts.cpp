#include "parts.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/data/samples/loader.h"
#include "skein/models/architecture.h"
#include "skein/parallel/layout.h"
#include "skein/parallel/schedule.h"
#include "skein/train/optim/lr.h"
#include "skein/train/progress.h"

namespace skein::scaling::sweep {
namespace {

// Muennighoff et al. (2023).
constexpr double kWorthLess = 4;

void check_cell(const SweepCell& cell, int ranks) {
  with_origin("cell " + cell.name, [&] {
    const MeshShape shape = mesh_shape(cell.run.parallel, ranks);
    check(cell.run.model, shape.tp, cell.run.parallel.sequence);
    plan_batch(cell.run.parallel, shape, cell.run.train.global_batch, cell.run.train.micro_batch);
    split_layers(std::vector<double>(cell.run.model.n_layers, 1),
                 shape.pp * cell.run.parallel.chunks, cell.run.parallel.layers);
    check(cell.run.lr, cell.run.train.steps, cell.batch_tokens());
  });
}

// An encoder sees each sentence once a pass.
void count_tokens_of_encoders(std::vector<SweepCell>& cells) {
  const train::PretrainConfig& run = cells.front().run;
  double held = 0;
  for (const auto& store : open_blend(run.data.train, run.data).stores)
    held += store->info().tokens;
  for (SweepCell& cell : cells) cell.unique_tokens = std::min(cell.tokens, held);
}

void count_unique_tokens(std::vector<SweepCell>& cells, const train::Task& task) {
  const train::PretrainConfig& run = cells.front().run;
  if (run.model.architecture->reads() != Reads::texts) {
    const auto held = static_cast<double>(task.samples().samples_per_epoch() * task.length());
    for (SweepCell& cell : cells) cell.unique_tokens = std::min(cell.tokens, held);
    return;
  }
  if (run.model.architecture->fills_masks(run.model)) return count_tokens_of_encoders(cells);
  const data::Loader loader(run.data.train, run.model.context, run.train.seed, run.data);
  for (SweepCell& cell : cells)
    cell.unique_tokens = cell.tokens - loader.samples_seen_again(cell.run.train.steps *
                                                                 cell.run.train.global_batch) *
                                           run.model.context;
}

double passes(const SweepCell& cell) { return cell.tokens / cell.unique_tokens; }

void warn_of_repeated_data(const std::vector<SweepCell>& cells) {
  const SweepCell* most = &cells.front();
  int64_t again = 0;
  for (const SweepCell& cell : cells) {
    if (passes(cell) > 1) ++again;
    if (passes(cell) > passes(*most)) most = &cell;
  }
  if (again == 0) return;
  log::warn(
      "{} of {} cells see tokens of data.train again: {} the most, {} of its {} tokens ({:.3g} "
      "passes over {}). Up to about 4 passes they are worth nearly as much as new ones; {}",
      again, cells.size(), most->name, readable_count(most->tokens - most->unique_tokens),
      readable_count(most->tokens), passes(*most), readable_count(most->unique_tokens),
      passes(*most) > kWorthLess
          ? "beyond that they are not, and `skein fit` needs fresh runs beside such: give more "
            "text, or these cells fewer tokens"
          : "column unique_tokens tells `skein fit` of them, and more text avoids them");
}

void set_model(const SweepCell& cell, ScalingRun& run) {
  const ModelConfig& model = cell.run.model;
  run.d_model = model.d_model;
  run.n_layers = model.n_layers;
  run.n_heads = model.n_heads;
  run.vocab_size = model.vocab_size;
  run.context = model.context;
  run.n_blocks = cell.counts.blocks;
  run.n_embedding = cell.counts.embedding;
  run.n_head = cell.counts.head;
  run.n_all = cell.counts.all;
}

}  // namespace

std::unique_ptr<train::Task> task_of(const SweepConfig& config, train::PretrainConfig& run) {
  train::PretrainTaskConfig all{
      .run = run, .augment = config.augment, .graphs = config.graphs, .stories = config.stories};
  auto task = pretraining_task(all);
  run = all.run;
  return task;
}

void bind_run(Options& options, train::PretrainConfig& run, SweepConfig& config) {
  bind(options, run);
  switch (run.model.architecture->reads()) {
    case Reads::texts: break;
    case Reads::pictures: bind(options, config.augment); break;
    case Reads::graphs: bind(options, config.graphs); break;
    case Reads::stories: bind(options, config.stories); break;
  }
}

std::vector<SweepCell> checked_cells(const SweepConfig& config, const train::Task& task,
                                     Group& world) {
  const int64_t ranks = config.ranks_per_run;
  require(ranks > 0 && world.size() % ranks == 0,
          "sweep.ranks_per_run={} does not divide the {} ranks of this job", ranks, world.size());
  SweepDesign design = make_design(config);
  for (const std::string& warning : design.warnings) log::warn("{}", warning);
  for (const SweepCell& cell : design.cells) check_cell(cell, narrow<int>(ranks));
  count_unique_tokens(design.cells, task);
  warn_of_repeated_data(design.cells);
  return std::move(design.cells);
}

ScalingRun row_of(const SweepCell& cell, CellOutcome outcome, int64_t line) {
  ScalingRun run;
  run.name = cell.name;
  run.folder = "cells/" + cell.name;
  run.line = line;
  run.seed = cell.run.train.seed;
  set_model(cell, run);
  run.tokens = cell.tokens;
  run.unique_tokens = cell.unique_tokens;
  run.flops_exact = cell.flops;
  run.lr = cell.run.lr.lr;
  run.global_batch = cell.batch_tokens();
  run.steps = cell.run.train.steps;
  run.status = std::move(outcome.status);
  run.reason = std::move(outcome.reason);
  run.loss = outcome.loss;
  run.train_loss = outcome.train_loss;
  run.seconds = outcome.seconds;
  run.curve = std::move(outcome.curve);
  return run;
}

int64_t evaluations_of(const SweepCell& cell) {
  const int64_t steps = cell.run.train.steps, every = cell.run.validation.every;
  const std::vector<int64_t> points = train::evaluation_steps(cell.run.validation.points, steps);
  int64_t count = every > 0 ? steps / every : 0;
  for (int64_t step : points) count += every == 0 || step % every != 0 ? 1 : 0;
  const bool last =
      (every > 0 && steps % every == 0) || (!points.empty() && points.back() == steps);
  return last ? count : count + 1;
}

double evaluation_work(const SweepCell& cell, double held_out_tokens) {
  return evaluations_of(cell) * held_out_tokens * cell.counts.flops_per_token / 3;
}

}  // namespace skein::scaling::sweep
