#include "intervals.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/philox.h"

#include "bootstrap.h"

namespace skein {

Interval interval_over(double value, std::vector<double> draws, int64_t asked) {
  if (2 * std::ssize(draws) < asked) return {value};
  return interval_of(value, std::move(draws));
}

size_t drawn(uint64_t key, int64_t resample, uint64_t index, size_t count) {
  const PhiloxBlock block = philox(key, resample, index);
  return std::min(count - 1, static_cast<size_t>(uniform_double(block[0], block[1]) * count));
}

PowerLaw power_through(std::span<const XY> pairs) {
  const double count = pairs.size();
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
  fit.exponent = interval_over(law, draws, &PowerLaw::exponent, asked);
  fit.coefficient = interval_over(law, draws, &PowerLaw::coefficient, asked);
  fit.draws = std::move(draws);
  return fit;
}

OffsetPowerFit offset_through(std::span<const XY> pairs, std::span<const std::vector<XY>> resampled,
                              int threads) {
  ParametricOptions options;
  options.threads = threads;
  try {
    return fit_offset_power(pairs, resampled, options);
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    OffsetPowerFit none;
    none.convergence.problem = error.what();
    return none;
  }
}

}  // namespace skein
