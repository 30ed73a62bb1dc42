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

template <class Fit, class Make>
void attempt(LawBeside<Fit>& beside, const Make& make) {
  beside.problem.clear();
  try {
    beside.fit = make();
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    beside.problem = error.what();
  }
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
  LawBeside<OffsetPowerFit> found;
  attempt(found, [&] { return fit_offset_power(pairs, options); });
  law.offset = found.fit;
  law.problem = found.problem;
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
  const std::vector<ScalingPoint>& points = study.main.points;
  ParametricOptions options = study.options.parametric;
  options.resamples = std::min(options.resamples, kResamplesBeside);
  options.show_progress = false;
  fit_single_laws(study, options);
  study.kaplan.problem = study.over_training.problem = study.data_limited.problem =
      not_asked(study.options);
  // Those of N and D at once go with approach 3, or alone.
  const auto wanted = [&](Law law) {
    return asks(study.options, Approach::parametric) || study.options.law == law;
  };
  if (wanted(Law::kaplan)) attempt(study.kaplan, [&] { return fit_kaplan(points, options); });
  if (wanted(Law::over_training))
    attempt(study.over_training, [&] { return fit_over_training(points, options); });
  if (wanted(Law::data_limited))
    attempt(study.data_limited, [&] { return fit_data_limited(points, options); });
}

}  // namespace skein
