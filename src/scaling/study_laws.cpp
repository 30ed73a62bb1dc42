#include <algorithm>
#include <map>

#include "skein/core/error.h"
#include "study_parts.h"

namespace skein {
namespace {

constexpr int64_t kResamplesBeside = 1000;
constexpr size_t kFewestForSlice = 5;

// Of the runs within a factor of 2 of the largest `held`, the least loss at each `moving`.
std::vector<XY> slice(const std::vector<ScalingPoint>& points, double ScalingPoint::*held, double ScalingPoint::*moving) {
  double largest = 0;
  for (const ScalingPoint& point : points) largest = std::max(largest, point.*held);
  std::map<double, double> least;
  for (const ScalingPoint& point : points) {
    if (point.*held < largest / 2) continue;
    const auto [at, is_new] = least.emplace(point.*moving, point.loss);
    if (!is_new) at->second = std::min(at->second, point.loss);
  }
  std::vector<XY> pairs;
  for (const auto& [x, y] : least) pairs.push_back({x, y, 1, static_cast<int64_t>(pairs.size())});
  return pairs;
}

template <class Fit, class Make>
void attempt(LawBeside<Fit>& beside, const Make& make) {
  try {
    beside.fit = make();
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    beside.problem = error.what();
  }
}

void fit_slice(const std::vector<XY>& pairs, const ParametricOptions& options, std::optional<OffsetPowerFit>& offset, std::optional<PowerFit>& power) {
  if (pairs.size() < kFewestForSlice) return;
  LawBeside<OffsetPowerFit> found;
  attempt(found, [&] { return fit_offset_power(pairs, options); });
  offset = found.fit;
  power = fit_power(pairs, options.resamples, options.seed);
}

}  // namespace

void fit_laws_beside(Study& study) {
  const std::vector<ScalingPoint>& points = study.main.points;
  ParametricOptions options = study.options.parametric;
  options.resamples = std::min(options.resamples, kResamplesBeside);
  options.show_progress = false;
  fit_slice(slice(points, &ScalingPoint::d, &ScalingPoint::n), options, study.loss_of_n, study.power_of_n);
  fit_slice(slice(points, &ScalingPoint::n, &ScalingPoint::d), options, study.loss_of_d, study.power_of_d);
  if (!asks(study.options, Approach::parametric)) {
    study.kaplan.problem = study.over_training.problem = study.data_limited.problem = kNotAsked;
    return;
  }
  attempt(study.kaplan, [&] { return fit_kaplan(points, options); });
  attempt(study.over_training, [&] { return fit_over_training(points, options); });
  attempt(study.data_limited, [&] { return fit_data_limited(points, options); });
}

}  // namespace skein
