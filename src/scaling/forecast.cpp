#include <algorithm>
#include <chrono>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/data/loader.h"
#include "skein/scaling/sweep.h"
#include "skein/train/progress.h"
#include "skein/train/trainer.h"
#include "sweep_parts.h"

namespace skein {
namespace {

constexpr double kLeastSeconds = 0.5;
constexpr int64_t kMostSteps = 4096;

double held_out_tokens(const SweepConfig& config) {
  double tokens = 0;
  for (const auto& store : open_blend(config.run.data.validation, config.run.data).stores) {
    const auto all = static_cast<double>(store->info().tokens);
    const auto windows = static_cast<double>(config.run.validation.eval.windows * config.run.model.context);
    tokens += windows > 0 ? std::min(all, windows) : all;
  }
  return tokens;
}

double seconds_of(PretrainConfig run, int64_t steps, Group& trainer) {
  run.train.steps = steps;
  run.lr.warmup = run.lr.decay_end = run.lr.cooldown = 0;
  run.lr.decay = LrConfig::Decay::constant;
  run.data.validation.clear();
  run.validation.points = run.validation.every = 0;
  const auto begin = std::chrono::steady_clock::now();
  pretrain(run, trainer);
  return trainer.sum(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()) / trainer.size();
}

// FLOP/s of the steps alone: what a run costs beside them is the same in both.
double measured_rate(const SweepCell& cell, Group& trainer) {
  constexpr int64_t kBefore = 2;
  const double before = seconds_of(cell.run, kBefore, trainer);
  int64_t steps = 16;
  double seconds = 0;
  for (;; steps *= 4) {
    seconds = seconds_of(cell.run, kBefore + steps, trainer) - before;
    if (seconds >= kLeastSeconds || steps >= kMostSteps) break;
  }
  return cell.counts.flops_per_token * static_cast<double>(steps * cell.batch_tokens()) / std::max(seconds, 1e-6);
}

// Between the rates of the cheapest and the dearest token, by ln FLOPs a token.
class Rates {
 public:
  Rates(const std::vector<SweepCell>& cells, const SweepConfig& config, Group& trainer) {
    const auto [small, large] = std::minmax_element(cells.begin(), cells.end(), [](const SweepCell& left, const SweepCell& right) {
      return left.counts.flops_per_token < right.counts.flops_per_token;
    });
    from_ = std::log(small->counts.flops_per_token);
    to_ = std::log(large->counts.flops_per_token);
    measured_ = config.flops_per_second <= 0;
    first_ = measured_ ? measured_rate(*small, trainer) : config.flops_per_second;
    last_ = measured_ && to_ > from_ ? measured_rate(*large, trainer) : first_;
  }
  double at(const SweepCell& cell) const {
    const double along = to_ > from_ ? (std::log(cell.counts.flops_per_token) - from_) / (to_ - from_) : 0;
    return first_ * std::pow(last_ / first_, along);
  }
  std::string text() const {
    return fmt::format("{}FLOP/s{}", readable_count(first_, " "), measured_ ? fmt::format(" to {}FLOP/s a trainer, as measured here", readable_count(last_, " ")) : " a trainer, as given");
  }

 private:
  double from_ = 0, to_ = 0, first_ = 0, last_ = 0;
  bool measured_ = false;
};

std::string line_of(const SweepCell& cell, double seconds, size_t width) {
  return fmt::format("{:<{}}  {:>9}  {:>9}  {:>9}  {:.3e}  {:>9}  {:>7}  {:>9}  {:>8}\n", cell.name, width, readable_count(cell.counts.blocks),
                     readable_count(cell.counts.all), readable_count(cell.tokens), cell.flops, cell.run.train.steps, cell.batch_tokens(), cell.run.lr.lr,
                     readable_seconds(seconds));
}

}  // namespace

std::string forecast_text(const SweepConfig& config, Group& world) {
  const std::vector<SweepCell> cells = checked_cells(config, world);
  const auto trainer = world.split(world.rank() / static_cast<int>(config.ranks_per_run), world.rank());
  log::set_level(log::Level::error);
  const Rates rates(cells, config, *trainer);
  log::set_level(log::Level::info);
  const double tokens = held_out_tokens(config), trainers = static_cast<double>(world.size()) / static_cast<double>(config.ranks_per_run);
  size_t width = 4;
  for (const SweepCell& cell : cells) width = std::max(width, cell.name.size());
  std::string text = fmt::format("{:<{}}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}  {:>7}  {:>9}  {:>8}\n", "cell", width, "N blocks", "N all", "D", "C exact", "steps",
                                 "batch", "lr", "time");
  double flops = 0, seconds = 0, longest = 0;
  for (const SweepCell& cell : cells) {
    const double own = work_of(cell, tokens) / rates.at(cell);
    text += line_of(cell, own, width);
    flops += cell.flops;
    seconds += own;
    longest = std::max(longest, own);
  }
  return text + fmt::format("{} cells, {:.3e} FLOPs, about {} on {} trainers ({}; held-out evaluations of {} tokens included)\n", cells.size(), flops,
                            readable_seconds(std::max(longest, seconds / trainers)), trainers, rates.text(), readable_count(tokens));
}

}  // namespace skein
