#include "sweep_parts.h"

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/data/loader.h"
#include "skein/parallel/layout.h"
#include "skein/train/lr.h"

namespace skein {
namespace {

void check_cell(const SweepCell& cell, int ranks) {
  try {
    const MeshShape shape = mesh_shape(cell.run.parallel, ranks);
    check(cell.run.model, shape.tp, cell.run.parallel.sequence);
    plan_batch(cell.run.parallel, shape, cell.run.train.global_batch, cell.run.train.micro_batch);
    check(cell.run.lr, cell.run.train.steps, cell.batch_tokens());
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("cell {}: {}", cell.name, error.what()));
  }
}

void warn_of_repeated_data(const std::vector<SweepCell>& cells) {
  double held = 0, most = 0;
  for (const auto& store : open_blend(cells.front().run.data.train, cells.front().run.data).stores) held += static_cast<double>(store->info().tokens);
  int64_t longer = 0;
  for (const SweepCell& cell : cells) {
    most = std::max(most, cell.tokens / held);
    if (cell.tokens > held) ++longer;
  }
  if (longer > 0) log::warn("{} cells train on more than the {:.4g} tokens of data.train, up to {:.1f} passes; beyond about 4 repeated data are worth less", longer, held, most);
}

}  // namespace

std::vector<SweepCell> checked_cells(const SweepConfig& config, Group& world) {
  const int64_t ranks = config.ranks_per_run;
  require(ranks > 0 && world.size() % ranks == 0, "sweep.ranks_per_run={} does not divide the {} ranks of this job", ranks, world.size());
  SweepDesign design = make_design(config);
  for (const std::string& warning : design.warnings) log::warn("{}", warning);
  for (const SweepCell& cell : design.cells) check_cell(cell, static_cast<int>(ranks));
  warn_of_repeated_data(design.cells);
  return std::move(design.cells);
}

std::vector<ScalingRun> rows(const std::vector<SweepCell>& cells, const std::vector<CellFolder>& folders) {
  std::vector<ScalingRun> made;
  for (size_t i = 0; i < cells.size(); ++i) {
    const SweepCell& cell = cells[i];
    CellOutcome outcome = folders[i].outcome();
    ScalingRun run;
    run.name = cell.name;
    run.status = outcome.status;
    run.reason = outcome.reason;
    run.folder = "cells/" + cell.name;
    run.line = static_cast<int64_t>(i) + 2;
    run.seed = static_cast<int64_t>(cell.run.train.seed);
    run.d_model = cell.run.model.d_model;
    run.n_layers = cell.run.model.n_layers;
    run.n_heads = cell.run.model.n_heads;
    run.vocab_size = cell.run.model.vocab_size;
    run.context = cell.run.model.context;
    run.n_blocks = cell.counts.blocks;
    run.n_embedding = cell.counts.embedding;
    run.n_head = cell.counts.head;
    run.n_all = cell.counts.all;
    run.tokens = cell.tokens;
    run.flops_exact = cell.flops;
    run.lr = cell.run.lr.lr;
    run.global_batch = static_cast<double>(cell.batch_tokens());
    run.steps = static_cast<double>(cell.run.train.steps);
    run.loss = outcome.loss;
    run.train_loss = outcome.train_loss;
    run.seconds = outcome.seconds;
    run.curve = std::move(outcome.curve);
    made.push_back(std::move(run));
  }
  return made;
}

// Forward alone is a third of a step.
double work_of(const SweepCell& cell, double held_out_tokens) {
  const size_t evaluations = evaluation_steps(cell.run.validation.points, cell.run.train.steps).size();
  return cell.flops + static_cast<double>(std::max<size_t>(1, evaluations)) * held_out_tokens * cell.counts.flops_per_token / 3;
}

}  // namespace skein
