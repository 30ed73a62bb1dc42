#include "bootstrap.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/philox.h"

#include "intervals.h"

namespace skein::scaling::fit {
namespace {

constexpr int64_t kMostResamples = 1'000'000;
using Content = std::array<double, 4>;

// Says now and then how far it is.
class ResampleProgress {
 public:
  ResampleProgress(bool show, int64_t count)
      : show_(show), count_(count), last_(std::chrono::steady_clock::now()) {}
  void one() {
    if (!show_) return;
    const std::lock_guard lock(mutex_);
    ++done_;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(5)) return;
    last_ = now;
    log::info("{} of {} resamples", done_, count_);
  }

 private:
  const bool show_;
  const int64_t count_;
  int64_t done_ = 0;
  std::chrono::steady_clock::time_point last_;
  std::mutex mutex_;
};

double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * (sorted.size() - 1);
  const size_t below = static_cast<size_t>(position),
               above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}

}  // namespace

OrderedRows order_rows(const std::vector<Content>& rows, const std::vector<int64_t>& clusters) {
  std::map<int64_t, std::vector<size_t>> members;
  for (size_t i = 0; i < rows.size(); ++i) members[clusters[i]].push_back(i);
  std::vector<std::pair<std::vector<Content>, std::vector<size_t>>> sorted;
  for (auto& [cluster, which] : members) {
    std::ranges::stable_sort(which, {}, [&](size_t i) { return rows[i]; });
    std::vector<Content> contents;
    for (size_t i : which) contents.push_back(rows[i]);
    sorted.emplace_back(std::move(contents), std::move(which));
  }
  std::ranges::stable_sort(
      sorted, {}, [](const auto& one) -> auto& { return one.first; });
  OrderedRows made;
  std::set<Content> seen;
  for (const auto& [contents, which] : sorted) {
    std::vector<size_t> indices;
    for (size_t i : which) {
      if (!seen.insert(rows[i]).second) continue;
      indices.push_back(made.rows.size());
      made.rows.push_back(i);
    }
    if (!indices.empty()) made.clusters.push_back(std::move(indices));
  }
  return made;
}

void require_resamples(int64_t resamples) {
  require(resamples >= 0 && resamples <= kMostResamples,
          "fit.resamples is {}; it must lie between 0 (no intervals) and {}", resamples,
          kMostResamples);
}

std::vector<double> resample_counts(const OrderedRows& rows, uint64_t seed, int64_t resample) {
  const uint64_t key = derive_key(seed, "resamples of a fit");
  std::vector<double> counts(rows.rows.size());
  for (size_t i = 0; i < rows.clusters.size(); ++i)
    for (size_t index : rows.clusters[drawn(key, resample, i, rows.clusters.size())])
      counts[index] += 1;
  return counts;
}

std::optional<Unknowns> fit_resample(const PowerSum& sum, const Solution& solution,
                                     const ParametricOptions& options) {
  const Criterion criterion = criterion_of(options);
  std::vector<Unknowns> starts = lowest(sum, criterion, solution.candidates, 2);
  starts.insert(starts.begin(), solution.at);
  Minimum best;
  best.value = std::numeric_limits<double>::infinity();
  for (const Unknowns& start : starts) {
    const Minimum found = polish(sum, criterion, start);
    if (found.converged && found.value < best.value * (1 - 1e-12)) best = found;
  }
  if (best.converged && options.kind == LossKind::absolute) best = refine(sum, options, best.at);
  if (!best.converged || !degenerate(sum, best.at, true).empty()) return {};
  return best.at;
}

std::vector<Unknowns> bootstrap(const PowerSum& sum, const OrderedRows& rows,
                                const Solution& solution, const ParametricOptions& options) {
  ResampleProgress progress(options.show_progress, options.resamples);
  return found_in_parallel(options.resamples, options.threads, [&](int64_t i) {
    PowerSum resampled = sum;
    const std::vector<double> counts = resample_counts(rows, options.seed, i);
    for (size_t j = 0; j < counts.size(); ++j) resampled.weight[j] *= counts[j];
    const std::optional<Unknowns> found = fit_resample(resampled, solution, options);
    progress.one();
    return found;
  });
}

Interval interval_of(double value, std::vector<double> draws) {
  Interval made{value, kUnknown, kUnknown, kUnknown};
  std::erase_if(draws, [](double one) { return !std::isfinite(one); });
  if (draws.size() < 2) return made;
  std::sort(draws.begin(), draws.end());
  const double mean = std::accumulate(draws.begin(), draws.end(), 0.0) / draws.size();
  double squares = 0;
  for (double one : draws) squares += (one - mean) * (one - mean);
  made.low = quantile(draws, 0.025);
  made.high = quantile(draws, 0.975);
  made.error = std::sqrt(squares / (draws.size() - 1));
  return made;
}

}  // namespace skein::scaling::fit
