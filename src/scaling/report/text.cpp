#include "skein/scaling/report/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace skein::scaling::report {
namespace {

constexpr double kFarAway = 4;  // robust standard deviations

double median(std::vector<double> values) {
  if (values.empty()) return kUnknown;
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string runs_text(int64_t count) {
  return fmt::format("{} run{}", count, count == 1 ? "" : "s");
}

std::string interval_text(const fit::Interval& interval, NumberText text, int digits) {
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high))
    return text(interval.value, digits);
  return fmt::format("{} ({} to {})", text(interval.value, digits), text(interval.low, digits),
                     text(interval.high, digits));
}

std::vector<std::string> exponents_of(const study::ConventionStudy& study,
                                      const std::array<const char*, 3>& approaches) {
  std::vector<std::string> made;
  const auto add = [&](const fit::Interval& exponent, const char* approach) {
    made.push_back(interval_text(exponent) + " by " + approach);
  };
  if (knows_exponent(study.envelope)) add(study.envelope.n_of_c.exponent, approaches[0]);
  if (study.isoflop.valid()) add(study.isoflop.n_of_c.exponent, approaches[1]);
  if (std::isfinite(study.n_exponent.value)) add(study.n_exponent, approaches[2]);
  return made;
}

std::vector<double> residuals_of(const study::ConventionStudy& study) {
  std::vector<double> made;
  if (!study.parametric) return made;
  for (const ScalingPoint& point : study.points)
    made.push_back(std::log(point.loss) - std::log(study.parametric->law.loss(point.n, point.d)));
  return made;
}

std::vector<size_t> far_residuals(const std::vector<double>& residuals) {
  const double centre = median(residuals);
  std::vector<double> distances;
  for (const double one : residuals) distances.push_back(std::abs(one - centre));
  const double limit = kFarAway * 1.4826 * median(distances);
  std::vector<size_t> found;
  for (size_t i = 0; i < distances.size(); ++i)
    if (distances[i] > limit && distances[i] > 0) found.push_back(i);
  std::ranges::stable_sort(found, std::greater{}, [&](size_t i) { return distances[i]; });
  return found;
}

}  // namespace skein::scaling::report
