#include <algorithm>
#include <cmath>
#include <optional>

#include "skein/core/error.h"

#include "forms.h"
#include "intervals.h"
#include "repeats.h"

namespace skein::scaling::fit {
namespace {

constexpr size_t kLeastRepeated = 3;

struct Split {
  std::vector<ScalingPoint> fresh, repeated;
};

// Both steps again for the runs of one resample.
class SplitResampler {
 public:
  SplitResampler(const Split& split, const Runs& runs, const ParametricOptions& options)
      : runs_(runs),
        options_(options),
        fresh_(chinchilla_sum(split.fresh)),
        repeated_(split.repeated),
        solution_(solve(fresh_, options)) {}

  std::optional<DataLimitedLaw> law_of(int64_t resample, const DataLimitedLaw& near) const {
    const std::vector<double> counts = resample_counts(runs_.rows, options_.seed, resample);
    PowerSum fresh = fresh_;
    std::vector<double> again;
    size_t next = 0;
    for (size_t i = 0; i < runs_.points.size(); ++i) {
      if (runs_.points[i].repeated())
        again.push_back(counts[i]);
      else
        fresh.weight[next++] = counts[i];
    }
    const auto at = fit_resample(fresh, solution_, options_);
    if (!at || std::count_if(again.begin(), again.end(), [](double one) { return one > 0; }) < 2)
      return {};
    return Repeats(chinchilla_law(fresh, *at), repeated_, std::move(again), options_).from(near);
  }

 private:
  const Runs& runs_;
  const ParametricOptions& options_;
  PowerSum fresh_;
  std::vector<ScalingPoint> repeated_;
  Solution solution_;
};

void add_intervals(DataLimitedFit& fit, const SplitResampler& resampler,
                   const ParametricOptions& options) {
  const auto laws = found_in_parallel(options.resamples, options.threads,
                                      [&](int64_t i) { return resampler.law_of(i, fit.law); });
  fit.failed_draws = options.resamples - std::ssize(laws);
  fit.r_d = interval_over(fit.law, laws, &DataLimitedLaw::r_d, options.resamples);
  if (fit.r_n_problem.empty())
    fit.r_n = interval_over(fit.law, laws, &DataLimitedLaw::r_n, options.resamples);
}

Split split(std::span<const ScalingPoint> points) {
  Split made;
  for (const ScalingPoint& point : points) {
    require(!(point.unique_tokens <= 0), "run {} has {} unique tokens; there must be some",
            point.run + 1, point.unique_tokens);
    (point.repeated() ? made.repeated : made.fresh).push_back(point);
  }
  const bool told = std::any_of(points.begin(), points.end(), [](const ScalingPoint& point) {
    return !std::isnan(point.unique_tokens);
  });
  require(told, "no run says how many of its tokens are unique (column unique_tokens)");
  require(!made.repeated.empty(),
          "no run sees data again: none has more tokens than unique_tokens");
  require(
      made.repeated.size() >= kLeastRepeated,
      "R_D needs {} or more runs that see data again, tokens above unique_tokens, and there are {}",
      kLeastRepeated, made.repeated.size());
  return made;
}

ParametricFit fit_fresh(const std::vector<ScalingPoint>& points, const ParametricOptions& options) {
  ParametricOptions plain = options;
  plain.resamples = 0;
  ParametricFit fit;
  const std::string refused = refusal_of([&] { fit = fit_chinchilla(points, plain); });
  require(refused.empty() && has_optimum(fit),
          "of the {} runs on fresh data approach 3's law must be known first: {}", points.size(),
          refused.empty() ? fit.convergence.problem : refused);
  return fit;
}

}  // namespace

DataLimitedFit fit_data_limited(std::span<const ScalingPoint> points,
                                const ParametricOptions& options) {
  const Runs runs = runs_of(points, options);
  const Split parts = split(runs.points);
  DataLimitedFit fit;
  fit.fresh = fit_fresh(parts.fresh, options);
  fit.repeated = std::ssize(parts.repeated);
  Repeats(fit.fresh.law, parts.repeated, std::vector<double>(parts.repeated.size(), 1.0), options)
      .solve(fit);
  fit.r_d.value = fit.law.r_d;
  if (fit.r_n_problem.empty()) fit.r_n.value = fit.law.r_n;
  if (options.resamples > 0) add_intervals(fit, SplitResampler(parts, runs, options), options);
  return fit;
}

}  // namespace skein::scaling::fit
