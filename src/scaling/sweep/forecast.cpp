#include <algorithm>
#include <cmath>

#include "skein/core/clock.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/scaling/sweep/sweep.h"
#include "skein/train/progress.h"
#include "skein/train/trainer.h"

#include "parts.h"

namespace skein::scaling::sweep {
namespace {

constexpr double kLeastSeconds = 0.5;
constexpr int64_t kMostTimedSteps = 4096;
constexpr double kMostJudging = 0.5;  // of the time

double seconds_of(const SweepConfig& config, train::PretrainConfig run, int64_t steps,
                  Group& trainer) {
  run.train.steps = steps;
  run.lr = {.lr = run.lr.lr,
            .min_lr = run.lr.min_lr,
            .warmup = 0,
            .decay = train::LrConfig::Decay::constant};
  run.data.validation.clear();
  run.validation.points = run.validation.every = 0;
  const double begin = steady_seconds();
  const auto task = task_of(config, run);
  train::train(run, *task, trainer);
  return trainer.sum(steady_seconds() - begin) / trainer.size();
}

// FLOP/s of the steps alone: what a run costs beside them is the same in both.
double measured_rate(const SweepConfig& config, const SweepCell& cell, Group& trainer) {
  constexpr int64_t kBefore = 2;
  const double before = seconds_of(config, cell.run, kBefore, trainer);
  int64_t steps = 16;
  double seconds = 0;
  for (;; steps *= 4) {
    seconds = seconds_of(config, cell.run, kBefore + steps, trainer) - before;
    if (seconds >= kLeastSeconds || steps >= kMostTimedSteps) break;
  }
  return cell.counts.flops_per_token * steps * cell.batch_tokens() / std::max(seconds, 1e-6);
}

// Between the rates of the cheapest and the dearest token, by ln FLOPs a token.
class Rates {
 public:
  Rates(const std::vector<SweepCell>& cells, const SweepConfig& config, Group& trainer) {
    const auto [small, large] = std::ranges::minmax_element(
        cells, {}, [](const SweepCell& cell) { return cell.counts.flops_per_token; });
    from_ = std::log(small->counts.flops_per_token);
    to_ = std::log(large->counts.flops_per_token);
    measured_ = config.flops_per_second <= 0;
    first_ = measured_ ? measured_rate(config, *small, trainer) : config.flops_per_second;
    last_ = measured_ && to_ > from_ ? measured_rate(config, *large, trainer) : first_;
  }
  double at(const SweepCell& cell) const {
    const double along =
        to_ > from_ ? (std::log(cell.counts.flops_per_token) - from_) / (to_ - from_) : 0;
    return first_ * std::pow(last_ / first_, along);
  }
  std::string text() const {
    return fmt::format("{}FLOP/s{}", readable_count(first_, " "),
                       measured_ ? fmt::format(" to {}FLOP/s a trainer, as measured here",
                                               readable_count(last_, " "))
                                 : " a trainer, as given");
  }

 private:
  double from_ = 0, to_ = 0, first_ = 0, last_ = 0;
  bool measured_ = false;
};

std::string line_of(const SweepCell& cell, double seconds, size_t width) {
  return fmt::format("{:<{}}  {:>9}  {:>9}  {:>9}  {:.3e}  {:>9}  {:>7}  {:>9}  {:>8}\n", cell.name,
                     width, readable_count(cell.counts.blocks), readable_count(cell.counts.all),
                     readable_count(cell.tokens), cell.flops, cell.run.train.steps,
                     cell.batch_tokens(), cell.run.lr.lr, readable_seconds(seconds));
}

std::string head_of(size_t width) {
  return fmt::format("{:<{}}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}  {:>7}  {:>9}  {:>8}\n", "cell",
                     width, "N blocks", "N all", "D", "C exact", "steps", "batch", "lr", "time");
}

// Seconds of a trainer.
struct Times {
  double all = 0, judging = 0, longest = 0;
  double flops = 0;
};

std::string sum_of(const Times& times, size_t cells, double trainers, double tokens,
                   const Rates& rates) {
  const double share = times.judging / times.all;
  std::string text = fmt::format(
      "{} cells, {:.3e} FLOPs, about {} on {} trainers ({}; {:.0f}% of it for held-out evaluations "
      "of {} tokens)\n",
      cells, times.flops, readable_seconds(std::max(times.longest, times.all / trainers)), trainers,
      rates.text(), 100 * share, readable_count(tokens));
  if (share > kMostJudging)
    text +=
        "Evaluations take longer than the training: fewer validation.points, or validation.windows "
        "for fewer tokens, would shorten it.\n";
  return text;
}

}  // namespace

std::string forecast_text(const SweepConfig& config, Group& world) {
  require(config.flops_per_second >= 0 && std::isfinite(config.flops_per_second),
          "sweep.flops_per_second={} must be at least 0", config.flops_per_second);
  train::PretrainConfig run = config.run;
  const auto task = task_of(config, run);
  const std::vector<SweepCell> cells = checked_cells(config, *task, world);
  const auto trainer = world.split(world.rank() / narrow<int>(config.ranks_per_run), world.rank());
  const Rates rates = [&] {
    const log::LevelScope quiet(log::Level::error);
    return Rates(cells, config, *trainer);
  }();
  const double tokens = task->held_out_tokens(),
               trainers = ratio(world.size(), config.ranks_per_run);
  size_t width = 4;
  for (const SweepCell& cell : cells) width = std::max(width, cell.name.size());
  std::string text = head_of(width);
  Times times;
  for (const SweepCell& cell : cells) {
    const double judging = evaluation_work(cell, tokens) / rates.at(cell),
                 own = cell.flops / rates.at(cell) + judging;
    text += line_of(cell, own, width);
    times.flops += cell.flops;
    times.all += own;
    times.judging += judging;
    times.longest = std::max(times.longest, own);
  }
  return text + sum_of(times, cells.size(), trainers, tokens, rates);
}

}  // namespace skein::scaling::sweep
