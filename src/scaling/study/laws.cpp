#include <algorithm>
#include <map>

#include "skein/core/error.h"

#include "parts.h"
#include "scaling/fit/budgets.h"

namespace skein::scaling::study {
namespace {

constexpr int64_t kResamplesOfLaws = 1000;
constexpr size_t kFewestForSlice = 5;

// Of the runs within a factor of 2 of the largest `held`, the least loss at each `moving`.
std::vector<fit::XY> slice(const std::vector<ScalingPoint>& points, double ScalingPoint::*held,
                           double ScalingPoint::*moving) {
  const double largest = std::ranges::max(points, {}, held).*held;
  std::map<double, double> least;
  for (const ScalingPoint& point : points) {
    if (point.*held < largest / 2) continue;
    double& loss = least.emplace(point.*moving, point.loss).first->second;
    loss = std::min(loss, point.loss);
  }
  std::vector<fit::XY> pairs;
  for (const auto& [x, y] : least) pairs.push_back({x, y, 1, std::ssize(pairs)});
  return pairs;
}

void fit_single(Study& study, const NamedSingleLaw& named, const fit::ParametricOptions& options) {
  SingleLaw& law = study.*named.fits;
  const std::vector<fit::XY> pairs = pairs_of_law(study, named);
  if (pairs.size() < kFewestForSlice) {
    law.problem = fmt::format("it needs at least {} different {}, and there are {}",
                              kFewestForSlice, named.different, pairs.size());
    return;
  }
  law.problem = refusal_of([&] { law.offset = fit_offset_power(pairs, options); });
  law.power = fit_power(pairs, options.resamples, options.seed);
}

}  // namespace

std::vector<fit::XY> pairs_of_law(const Study& study, const NamedSingleLaw& law) {
  return law.held ? slice(study.main.points, law.held, law.over)
                  : fit::lowest_of_budgets(study.main.points, study.options.isoflop.tolerance);
}

void fit_laws_beside(Study& study) {
  fit::ParametricOptions options = study.options.parametric;
  options.resamples = std::min(options.resamples, kResamplesOfLaws);
  options.show_progress = false;
  for (const NamedSingleLaw& law : kSingleLaws)
    if (asks(study.options, law.law))
      fit_single(study, law, options);
    else
      (study.*law.fits).problem = not_asked(study.options);
  // Those of N and D at once go with approach 3, or alone.
  const auto attempt = [&](Law law, auto& beside, auto fit) {
    beside.problem = asks(study.options, Approach::parametric) || study.options.law == law
                         ? refusal_of([&] { beside.fit = fit(study.main.points, options); })
                         : not_asked(study.options);
  };
  attempt(Law::kaplan, study.kaplan, fit::fit_kaplan);
  attempt(Law::over_training, study.over_training, fit::fit_over_training);
  attempt(Law::data_limited, study.data_limited, fit::fit_data_limited);
}

}  // namespace skein::scaling::study
