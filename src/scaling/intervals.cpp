#include "intervals.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "skein/core/philox.h"

namespace skein {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double deviation(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::vector<double> each(const std::vector<PowerLaw>& draws, const std::function<double(const PowerLaw&)>& quantity) {
  std::vector<double> values;
  for (const PowerLaw& law : draws) values.push_back(quantity(law));
  return values;
}

}  // namespace

Interval interval_over(double value, std::vector<double> draws, int64_t asked) {
  Interval interval{value};
  if (draws.size() < 2 || 2 * static_cast<int64_t>(draws.size()) < asked) return interval;
  std::sort(draws.begin(), draws.end());
  interval.low = quantile(draws, 0.025);
  interval.high = quantile(draws, 0.975);
  interval.error = deviation(draws);
  return interval;
}

size_t drawn(uint64_t key, int64_t resample, uint64_t index, size_t count) {
  const PhiloxBlock block = philox(key, static_cast<uint64_t>(resample), index);
  return std::min(count - 1, static_cast<size_t>(uniform_double(block[0], block[1]) * static_cast<double>(count)));
}

PowerLaw power_through(std::span<const XY> pairs) {
  const auto count = static_cast<double>(pairs.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const XY& pair : pairs) {
    x += std::log(pair.x) / count;
    y += std::log(pair.y) / count;
  }
  for (const XY& pair : pairs) {
    const double dx = std::log(pair.x) - x;
    xx += dx * dx;
    xy += dx * (std::log(pair.y) - y);
  }
  return {std::exp(y - xy / xx * x), xy / xx};
}

PowerFit power_fit(const PowerLaw& law, std::vector<PowerLaw> draws, int64_t asked) {
  PowerFit fit;
  fit.law = law;
  fit.exponent = interval_over(law.exponent, each(draws, [](const PowerLaw& draw) { return draw.exponent; }), asked);
  fit.coefficient = interval_over(law.coefficient, each(draws, [](const PowerLaw& draw) { return draw.coefficient; }), asked);
  fit.draws = std::move(draws);
  return fit;
}

Interval at(const PowerFit& fit, double x, int64_t asked) {
  return interval_over(fit.law.at(x), each(fit.draws, [&](const PowerLaw& draw) { return draw.at(x); }), asked);
}

}  // namespace skein
