#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "parts.h"

namespace skein::scaling::study {
namespace {

constexpr double kFarOff = 0.2;

// L(N), L(D) or L(C), of the runs it is fitted to; NaN for any other run.
Predict single_law(const Study& study, const NamedSingleLaw& named) {
  const SingleLaw& law = study.*named.fits;
  if (!law.power) return {};
  std::map<double, double> fitted;
  for (const fit::XY& pair : pairs_of_law(study, named)) fitted.emplace(pair.x, pair.y);
  const bool with_offset = law.offset && law.offset->convergence.converged;
  return [=, &law, over = named.over](const ScalingPoint& point) {
    const auto at = fitted.find(point.*over);
    if (at == fitted.end() || at->second != point.loss) return std::nan("");
    return with_offset ? law.offset->law.at(point.*over) : law.power->law.at(point.*over);
  };
}

// Empty where no law is fitted.
Predict fitted_law(const Study& study) {
  for (const NamedSingleLaw& one : kSingleLaws)
    if (study.options.law == one.law) return single_law(study, one);
  if (study.main.parametric) return loss_by(study.main.parametric->law);
  if (study.options.law == Law::kaplan && study.kaplan.fit) return loss_by(study.kaplan.fit->law);
  if (study.options.law == Law::over_training && study.over_training.fit)
    return loss_by(study.over_training.fit->law);
  if (study.options.law == Law::data_limited && study.data_limited.fit)
    return loss_by(study.data_limited.fit->law);
  return {};
}

double distance(const Outlier& one) { return std::abs(std::log(one.found / one.predicted)); }

}  // namespace

Predict loss_by(const ChinchillaLaw& law) {
  return [law](const ScalingPoint& point) { return law.loss(point.n, point.d); };
}
Predict loss_by(const KaplanLaw& law) {
  return [law](const ScalingPoint& point) { return law.loss(point.n, point.d); };
}
Predict loss_by(const OverTrainingLaw& law) {
  return [law](const ScalingPoint& point) { return law.loss(point.c, point.d / point.n); };
}
// Runs on fresh data are fitted by the plain law.
Predict loss_by(const DataLimitedLaw& law) {
  return [law](const ScalingPoint& point) {
    return point.d > point.unique_tokens ? law.loss(point.n, point.d, point.unique_tokens)
                                         : law.law.loss(point.n, point.d);
  };
}

std::vector<Outlier> outliers_of(const Study& study) {
  std::vector<Outlier> found;
  const Predict predict = fitted_law(study);
  if (!predict) return found;
  for (const ScalingPoint& point : study.main.points) {
    const Outlier one{point.run, point.loss, predict(point)};
    if (std::abs(one.found / one.predicted - 1) >= kFarOff) found.push_back(one);
  }
  std::ranges::stable_sort(found, std::greater{}, distance);
  return found;
}

}  // namespace skein::scaling::study
