#include "skein/scaling/study/critical_batch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "skein/core/numbers.h"

#include "scaling/fit/intervals.h"

namespace skein::scaling::study {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kLosses = 8;
constexpr size_t kFewestBatches = 3;

using Runs = std::vector<const ScalingRun*>;

double size_of(const ScalingRun& run) { return std::isnan(run.n_all) ? run.n_params : run.n_all; }

// By model, then by batch size.
std::map<double, std::map<double, Runs>> models_of(const ScalingTable& table) {
  std::map<double, std::map<double, Runs>> models;
  for (const ScalingRun& run : table.runs) {
    const bool counts = run.status == "done" || run.status == "outclassed";
    if (counts && run.curve.size() >= 2 && run.global_batch > 0 && size_of(run) > 0)
      models[size_of(run)][run.global_batch].push_back(&run);
  }
  std::erase_if(models, [](const auto& model) { return model.second.size() < kFewestBatches; });
  return models;
}

// When the curve is first at the loss, over ln tokens; infinite where it never is.
double tokens_to(const ScalingRun& run, double loss) {
  for (size_t i = 1; i < run.curve.size(); ++i) {
    const CurvePoint &before = run.curve[i - 1], &after = run.curve[i];
    if (after.loss > loss || before.loss < loss) continue;
    const double share =
        before.loss == after.loss ? 0 : (before.loss - loss) / (before.loss - after.loss);
    return before.tokens * std::pow(after.tokens / before.tokens, share);
  }
  return kNever;
}

struct Range {
  double high, low;
};

// Losses that the curves of every batch size pass.
Range losses_of(const std::map<double, Runs>& batches) {
  Range range{kNever, 0};
  for (const auto& [batch, runs] : batches) {
    double first = 0, least = kNever;
    for (const ScalingRun* run : runs) {
      first = std::max(first, run->curve.front().loss);
      least = std::min(least, std::ranges::min(run->curve, {}, &CurvePoint::loss).loss);
    }
    range.high = std::min(range.high, first);
    range.low = std::max(range.low, least);
  }
  return range;
}

// D = D_min + D_min / B_crit B by least squares of relative errors.
CriticalBatchPoint point_at(const std::map<double, Runs>& batches, double n, double loss) {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  CriticalBatchPoint point{n, loss, kUnknown, kUnknown, 0};
  for (const auto& [batch, runs] : batches) {
    double tokens = kNever;
    for (const ScalingRun* run : runs) tokens = std::min(tokens, tokens_to(*run, loss));
    if (std::isinf(tokens)) continue;
    const double weight = 1 / (tokens * tokens);
    w += weight;
    x += weight * batch;
    y += weight * tokens;
    xx += weight * batch * batch;
    xy += weight * batch * tokens;
    ++point.batches;
  }
  const double slope = (w * xy - x * y) / (w * xx - x * x);
  point.least_tokens = (y - slope * x) / w;
  point.batch = point.least_tokens / slope;
  return point;
}

}  // namespace

CriticalBatchFit fit_critical_batch(const ScalingTable& table) {
  CriticalBatchFit fit;
  const auto models = models_of(table);
  std::vector<fit::XY> pairs;
  for (const auto& [n, batches] : models) {
    const Range range = losses_of(batches);
    for (int i = 0; range.high > range.low && i < kLosses; ++i) {
      const double loss = range.low * std::pow(range.high / range.low, ratio(i, kLosses));
      const CriticalBatchPoint point = point_at(batches, n, loss);
      if (std::cmp_less(point.batches, kFewestBatches) || !(point.batch > 0) ||
          !(point.least_tokens > 0))
        continue;
      fit.points.push_back(point);
      pairs.push_back({point.loss, point.batch, 1, 0});
    }
  }
  if (models.empty())
    fit.problem = "no model has runs with curves at 3 or more batch sizes";
  else if (pairs.size() < 3)
    fit.problem = "the tokens to a loss do not grow with the batch size";
  else
    fit.of_loss = power_through(pairs);
  return fit;
}

}  // namespace skein::scaling::study
