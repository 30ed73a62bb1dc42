#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "skein/core/error.h"
#include "skein/scaling/results.h"

namespace skein {
namespace {

using Key = std::vector<double>;

double key_of(double value) { return std::isnan(value) ? -1 : value; }

Key cell_of(const ScalingRun& run) {
  return {key_of(run.n_params),           key_of(run.n_blocks),            key_of(run.n_all),  static_cast<double>(run.d_model),
          static_cast<double>(run.n_layers), static_cast<double>(run.vocab_size), key_of(run.tokens)};
}

struct Setting {
  double sum = 0;
  int64_t runs = 0;
  double mean() const { return sum / static_cast<double>(runs); }
};

void exclude_where(ScalingTable& table, const std::string& status, const std::string& reason, const std::function<bool(const ScalingRun&)>& condition) {
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
  require(count < static_cast<int64_t>(losses.size()), "fit.drop_highest_losses={} would leave none of the {} runs of {}", count, losses.size(), table.path);
  std::sort(losses.begin(), losses.end(), std::greater<>());
  const double bound = losses[static_cast<size_t>(count) - 1];
  exclude_where(table, "excluded", fmt::format("one of the {} highest losses (fit.drop_highest_losses)", count),
                [&](const ScalingRun& run) { return run.loss >= bound; });
}

// The runs of a cell share a mean only where they share learning rate and batch size, whatever their seeds.
void exclude_other_settings(ScalingTable& table) {
  std::map<Key, std::map<Key, Setting>> cells;
  const auto setting_of = [](const ScalingRun& run) { return Key{key_of(run.lr), key_of(run.global_batch)}; };
  for (const ScalingRun& run : table.runs) {
    if (run.status != "done") continue;
    Setting& setting = cells[cell_of(run)][setting_of(run)];
    setting.sum += run.loss;
    ++setting.runs;
  }
  exclude_where(table, "outclassed", "another learning rate or batch size did better with this model and these tokens (fit.best_settings)",
                [&](const ScalingRun& run) {
    const auto& settings = cells[cell_of(run)];
    const auto lower = [](const auto& one, const auto& other) { return one.second.mean() < other.second.mean(); };
    return std::min_element(settings.begin(), settings.end(), lower)->first != setting_of(run);
  });
}

}  // namespace

void exclude(ScalingTable& table, const ExclusionRules& rules) {
  require(rules.highest_losses >= 0, "fit.drop_highest_losses={} must not be negative", rules.highest_losses);
  require(rules.least_tokens >= 0, "fit.least_tokens={} must not be negative", rules.least_tokens);
  if (rules.best_settings) exclude_other_settings(table);
  if (rules.least_tokens > 0)
    exclude_where(table, "excluded", fmt::format("fewer than {:g} tokens (fit.least_tokens)", rules.least_tokens),
                  [&](const ScalingRun& run) { return run.tokens < rules.least_tokens; });
  if (rules.highest_losses > 0) exclude_highest(table, rules.highest_losses);
}

}  // namespace skein
