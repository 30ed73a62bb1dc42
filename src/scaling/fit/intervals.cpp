#include "intervals.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/philox.h"

#include "bootstrap.h"

namespace skein::scaling::fit {
namespace {

// E + k x^-p with draws from resampled pairs; for pairs that have no such law, its convergence says
// why.
OffsetPowerFit offset_through(std::span<const XY> pairs, std::span<const std::vector<XY>> resampled,
                              int threads) {
  ParametricOptions options;
  options.threads = threads;
  OffsetPowerFit fit;
  const auto refused = refusal_of([&] { fit = fit_offset_power(pairs, resampled, options); });
  if (!refused.empty()) fit.convergence.problem = refused;
  return fit;
}

std::vector<XY> evenly(const std::vector<XY>& pairs, size_t most) {
  const size_t count = std::min(most, pairs.size());
  std::vector<XY> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(pairs[i * pairs.size() / count]);
  return chosen;
}

}  // namespace

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

void BestOfC::add(double c, double best_n, double best_d, double best_loss, int64_t cluster) {
  n.push_back({c, best_n, 1, cluster});
  d.push_back({c, best_d, 1, cluster});
  loss.push_back({c, best_loss, 1, cluster});
}

void fit_laws(LawsOfC& fit, const BestOfC& best,
              const std::function<std::optional<BestOfC>(int64_t)>& resample,
              const IsoflopOptions& options, size_t most_for_offset) {
  std::vector<PowerLaw> n, d, loss;
  std::vector<std::vector<XY>> losses;
  for (int64_t i = 0; i < options.resamples; ++i) {
    const std::optional<BestOfC> found = resample(i);
    if (!found) continue;
    n.push_back(power_through(found->n));
    d.push_back(power_through(found->d));
    loss.push_back(power_through(found->loss));
    losses.push_back(evenly(found->loss, most_for_offset));
  }
  fit.failed_draws = options.resamples - std::ssize(n);
  fit.n_of_c = power_fit(power_through(best.n), std::move(n), options.resamples);
  fit.d_of_c = power_fit(power_through(best.d), std::move(d), options.resamples);
  fit.loss_of_c = power_fit(power_through(best.loss), std::move(loss), options.resamples);
  fit.offset_loss_of_c =
      offset_through(evenly(best.loss, most_for_offset), losses, options.threads);
}

}  // namespace skein::scaling::fit
