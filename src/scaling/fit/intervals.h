// Intervals of what was computed again from resampled runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "skein/scaling/fit/isoflop.h"

namespace skein::scaling::fit {

// What `of`, a function or a member, says of each item.
template <class Items, class Of>
std::vector<double> each(const Items& items, const Of& of) {
  std::vector<double> made;
  for (const auto& item : items) made.push_back(std::invoke(of, item));
  return made;
}

// 2.5% and 97.5% of the draws and their standard deviation; unknown where fewer than half of
// `asked` are there.
Interval interval_over(double value, std::vector<double> draws, int64_t asked);
// The same of what `of` says of a law and of its draws.
template <class Law, class Of>
Interval interval_over(const Law& law, const std::vector<Law>& draws, const Of& of, int64_t asked) {
  return interval_over(std::invoke(of, law), each(draws, of), asked);
}
// Number `index` of resample `resample`: one of 0 ... count - 1.
size_t drawn(uint64_t key, int64_t resample, uint64_t index, size_t count);
// ln y on ln x by least squares.
PowerLaw power_through(std::span<const XY> pairs);
// A power law of bootstrapped draws.
PowerFit power_fit(const PowerLaw& law, std::vector<PowerLaw> draws, int64_t asked);

// What is best at each C, by runs or by those of a resample.
struct BestOfC {
  std::vector<XY> n, d, loss;
  void add(double c, double best_n, double best_d, double best_loss, int64_t cluster);
};
// Sets the laws, their draws from what resample(i) finds for i below options.resamples; none where
// that is too little. The law with an offset goes through at most so many of the losses, evenly
// chosen.
void fit_laws(LawsOfC& fit, const BestOfC& best,
              const std::function<std::optional<BestOfC>(int64_t)>& resample,
              const IsoflopOptions& options, size_t most_for_offset);

// y at x of a power law with an offset or without, over the draws.
template <class Fit>
Interval at(const Fit& fit, double x, int64_t asked) {
  const auto y = [&](const auto& law) { return law.at(x); };
  return interval_over(fit.law, fit.draws, y, asked);
}

}  // namespace skein::scaling::fit
