#include <algorithm>
#include <map>

#include "skein/core/error.h"

#include "parts.h"
#include "scaling/fit/budgets.h"

namespace skein {
namespace {

constexpr int64_t kResamplesBeside = 1000;
constexpr size_t kFewestForSlice = 5;

// Of the runs within a factor of 2 of the largest `held`, the least loss at each `moving`.
std::vector<XY> slice(const std::vector<ScalingPoint>& points, double ScalingPoint::*held,
                      double ScalingPoint::*moving) {
  double largest = 0;
  for (const ScalingPoint& point : points) largest = std::max(largest, point.*held);
  std::map<double, double> least;
  for (const ScalingPoint& point : points) {
    if (point.*held < largest / 2) continue;
    const auto [at, is_new] = least.emplace(point.*moving, point.loss);
    if (!is_new) at->second = std::min(at->second, point.loss);
  }
  std::vector<XY> pairs;
  for (const auto& [x, y] : least) pairs.push_back({x, y, 1, std::ssize(pairs)});
  return pairs;
}

// With an offset and without.
struct SingleLaw {
  std::optional<OffsetPowerFit>& offset;
  std::optional<PowerFit>& power;
  std::string& problem;
};

void fit_single(const std::vector<XY>& pairs, const char* of, const ParametricOptions& options,
                const SingleLaw& law) {
  if (pairs.size() < kFewestForSlice) {
    law.problem = fmt::format("it needs at least {} different {}, and there are {}",
                              kFewestForSlice, of, pairs.size());
    return;
  }
  law.problem = refusal_of([&] { law.offset = fit_offset_power(pairs, options); });
  law.power = fit_power(pairs, options.resamples, options.seed);
}

void fit_single_laws(Study& study, const ParametricOptions& options) {
  study.loss_of_n_problem = study.loss_of_d_problem = study.loss_of_c_problem =
      not_asked(study.options);
  const auto fit = [&](Law law, const char* of, const SingleLaw& made) {
    if (asks(study.options, law)) fit_single(pairs_of_law(study, law), of, options, made);
  };
  fit(Law::loss_of_n, "N of runs within a factor of 2 of the largest D",
      {study.loss_of_n, study.power_of_n, study.loss_of_n_problem});
  fit(Law::loss_of_d, "D of runs within a factor of 2 of the largest N",
      {study.loss_of_d, study.power_of_d, study.loss_of_d_problem});
  fit(Law::loss_of_c, "budgets (fit.budget_tolerance)",
      {study.loss_of_c, study.power_of_c, study.loss_of_c_problem});
}

}  // namespace

std::vector<XY> pairs_of_law(const Study& study, Law law) {
  const std::vector<ScalingPoint>& points = study.main.points;
  switch (law) {
    case Law::loss_of_n: return slice(points, &ScalingPoint::d, &ScalingPoint::n);
    case Law::loss_of_d: return slice(points, &ScalingPoint::n, &ScalingPoint::d);
    case Law::loss_of_c: return lowest_of_budgets(points, study.options.isoflop.tolerance);
    default: return {};
  }
}

void fit_laws_beside(Study& study) {
  ParametricOptions options = study.options.parametric;
  options.resamples = std::min(options.resamples, kResamplesBeside);
  options.show_progress = false;
  fit_single_laws(study, options);
  // Those of N and D at once go with approach 3, or alone.
  const auto attempt = [&](Law law, auto& beside, auto fit) {
    beside.problem = asks(study.options, Approach::parametric) || study.options.law == law
                         ? refusal_of([&] { beside.fit = fit(study.main.points, options); })
                         : not_asked(study.options);
  };
  attempt(Law::kaplan, study.kaplan, fit_kaplan);
  attempt(Law::over_training, study.over_training, fit_over_training);
  attempt(Law::data_limited, study.data_limited, fit_data_limited);
}

}  // namespace skein
