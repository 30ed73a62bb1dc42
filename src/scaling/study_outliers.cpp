#include <algorithm>
#include <cmath>
#include <functional>

#include "study_parts.h"

namespace skein {
namespace {

constexpr double kFarOff = 0.2;

using Predict = std::function<double(const ScalingPoint&)>;

double data_limited_loss(const DataLimitedLaw& law, const ScalingPoint& point) {
  return law.loss(point.n, point.d,
                  std::isnan(point.unique_tokens) ? point.d : point.unique_tokens);
}

// Empty where no law of N and D is fitted.
Predict fitted_law(const Study& study) {
  if (study.main.parametric)
    return [law = study.main.parametric->law](const ScalingPoint& point) {
      return law.loss(point.n, point.d);
    };
  if (study.options.law == Law::kaplan && study.kaplan.fit)
    return [law = study.kaplan.fit->law](const ScalingPoint& point) {
      return law.loss(point.n, point.d);
    };
  if (study.options.law == Law::over_training && study.over_training.fit)
    return [law = study.over_training.fit->law](const ScalingPoint& point) {
      return law.loss(point.c, point.d / point.n);
    };
  if (study.options.law == Law::data_limited && study.data_limited.fit)
    return [law = study.data_limited.fit->law](const ScalingPoint& point) {
      return data_limited_loss(law, point);
    };
  return {};
}

double distance(const Outlier& one) { return std::abs(std::log(one.found / one.predicted)); }

}  // namespace

std::vector<Outlier> outliers_of(const Study& study) {
  std::vector<Outlier> found;
  const Predict predict = fitted_law(study);
  if (!predict) return found;
  for (const ScalingPoint& point : study.main.points) {
    const Outlier one{point.run, point.loss, predict(point)};
    if (std::abs(one.found / one.predicted - 1) >= kFarOff) found.push_back(one);
  }
  std::stable_sort(found.begin(), found.end(), [](const Outlier& one, const Outlier& other) {
    return distance(one) > distance(other);
  });
  return found;
}

}  // namespace skein
