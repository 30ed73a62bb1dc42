#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "skein/core/error.h"
#include "skein/scaling/laws/results.h"

namespace skein::scaling {
namespace {

using Key = std::vector<double>;

double key_of(double value) { return std::isnan(value) ? -1 : value; }

Key model_of(const ScalingRun& run) {
  return {key_of(run.n_params),
          key_of(run.n_blocks),
          key_of(run.n_all),
          static_cast<double>(run.d_model),
          static_cast<double>(run.n_layers),
          static_cast<double>(run.vocab_size),
          data_again(run.tokens, run.unique_tokens) ? run.unique_tokens : -1};
}

Key setting_of(const ScalingRun& run) { return {key_of(run.lr), key_of(run.global_batch)}; }

// Whole batches of two sizes rarely make the same tokens.
bool as_long(const ScalingRun& one, const ScalingRun& other) {
  const double apart = std::abs(one.tokens - other.tokens), rounding = 1e-9 * one.tokens;
  const bool batches_differ =
      one.global_batch > 0 && other.global_batch > 0 && one.global_batch != other.global_batch;
  return apart <= (batches_differ ? (one.global_batch + other.global_batch) / 2 : rounding);
}

// Runs of one model and as many tokens.
struct Cell {
  std::vector<const ScalingRun*> runs;
  std::map<Key, std::set<double>> losses;  // of each setting, whatever the seeds; equal rows once

  Key best() const {
    const auto mean = [](const auto& setting) {
      return std::accumulate(setting.second.begin(), setting.second.end(), 0.0) /
             setting.second.size();
    };
    return std::ranges::min_element(losses, {}, mean)->first;
  }
};

void exclude_where(ScalingTable& table, const std::string& status, const std::string& reason,
                   const std::function<bool(const ScalingRun&)>& condition) {
  for (ScalingRun& run : table.runs) {
    if (run.status != "done" || !condition(run)) continue;
    run.status = status;
    run.reason = reason;
  }
}

void exclude_highest(ScalingTable& table, int64_t count) {
  std::vector<double> losses;
  for (const ScalingRun& run : table.runs)
    if (run.status == "done") losses.push_back(run.loss);
  require(count < std::ssize(losses),
          "fit.drop_highest_losses={} would leave none of the {} runs of {}", count, losses.size(),
          table.path);
  std::sort(losses.begin(), losses.end(), std::greater<>());
  const double bound = losses[count - 1];
  exclude_where(table, "excluded",
                fmt::format("one of the {} highest losses (fit.drop_highest_losses)", count),
                [&](const ScalingRun& run) { return run.loss >= bound; });
}

std::vector<Cell> cells_of(std::vector<const ScalingRun*> runs) {
  std::ranges::stable_sort(runs, {}, [](const ScalingRun* run) {
    return std::pair(run->tokens, key_of(run->global_batch));
  });
  std::vector<Cell> cells;
  for (const ScalingRun* run : runs) {
    if (cells.empty() || !as_long(*cells.back().runs.front(), *run)) cells.emplace_back();
    cells.back().runs.push_back(run);
    cells.back().losses[setting_of(*run)].insert(run->loss);
  }
  return cells;
}

void exclude_other_settings(ScalingTable& table) {
  std::map<Key, std::vector<const ScalingRun*>> models;
  for (const ScalingRun& run : table.runs)
    if (run.status == "done") models[model_of(run)].push_back(&run);
  std::set<const ScalingRun*> outclassed;
  for (const auto& [model, runs] : models) {
    for (const Cell& cell : cells_of(runs)) {
      const Key best = cell.best();
      for (const ScalingRun* run : cell.runs)
        if (setting_of(*run) != best) outclassed.insert(run);
    }
  }
  exclude_where(table, "outclassed",
                "another learning rate or batch size did better with this model and these tokens "
                "(fit.best_settings)",
                [&](const ScalingRun& run) { return outclassed.contains(&run); });
}

}  // namespace

void exclude(ScalingTable& table, const ExclusionRules& rules) {
  require(rules.highest_losses >= 0, "fit.drop_highest_losses={} must not be negative",
          rules.highest_losses);
  require(rules.least_tokens >= 0, "fit.least_tokens={} must not be negative", rules.least_tokens);
  if (rules.best_settings) exclude_other_settings(table);
  if (rules.least_tokens > 0)
    exclude_where(table, "excluded",
                  fmt::format("fewer than {:g} tokens (fit.least_tokens)", rules.least_tokens),
                  [&](const ScalingRun& run) { return run.tokens < rules.least_tokens; });
  if (rules.highest_losses > 0) exclude_highest(table, rules.highest_losses);
}

}  // namespace skein::scaling
