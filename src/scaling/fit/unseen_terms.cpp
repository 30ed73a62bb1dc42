#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "skein/core/numbers.h"

#include "solve.h"

namespace skein::scaling::fit {
namespace {

constexpr double kChance = 0.01, kFewest = 3;
constexpr double kNoResidual = 1e-9;  // a mean residual of ln L that says nothing
constexpr size_t kLowestStarts = 8;

// One term less, and less the slopes that were its alone.
PowerSum without(const PowerSum& sum, size_t term) {
  PowerSum made = sum;
  made.terms.erase(made.terms.begin() + term);
  made.slopes.clear();
  for (int slope = 0; slope < std::ssize(sum.slopes); ++slope) {
    bool kept = sum.multiplier == slope;
    const int slope_index = narrow<int>(made.slopes.size());
    for (PowerSum::Term& left : made.terms) {
      if (left.slope != slope) continue;
      left.slope = slope_index;
      kept = true;
    }
    if (sum.multiplier == slope) made.multiplier = slope_index;
    if (kept) made.slopes.push_back(sum.slopes[slope]);
  }
  return made;
}

double mean_residual(const PowerSum& sum, const Unknowns& at) {
  double total = 0, weight = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    if (sum.weight[i] == 0) continue;
    total += sum.weight[i] * std::abs(sum.predict(at, i) - sum.ln_loss[i]);
    weight += sum.weight[i];
  }
  return total / weight;
}

double least_residual(const PowerSum& sum, const Criterion& criterion) {
  double least = std::numeric_limits<double>::infinity();
  for (const Unknowns& start : lowest(sum, criterion, scored_starts(sum, criterion), kLowestStarts))
    least = std::min(least, mean_residual(sum, polish(sum, criterion, start).at));
  return least;
}

}  // namespace

bool by_chance(double with, double without, double points_less_unknowns) {
  return !(without > kNoResidual) ||
         std::max(kFewest, points_less_unknowns) * std::log(with / without) > std::log(kChance);
}

std::string unseen_term(const PowerSum& sum, const ParametricOptions& options, const Unknowns& at) {
  const double left = 1.0 * sum.size() - sum.unknowns();
  const double with = mean_residual(sum, at);
  for (size_t k = 0; k < sum.terms.size(); ++k) {
    if (sum.terms[k].slope < 0 && sum.terms[k].fixed == 0) continue;
    const double without_it = least_residual(without(sum, k), criterion_of(options));
    if (!by_chance(with, without_it, left)) continue;
    return fmt::format(
        "{} is not seen in these runs: with it the residuals of ln L are {:.3g} on average, "
        "without it {:.3g}, which chance alone could do",
        sum.terms[k].name, with, without_it);
  }
  return "";
}

}  // namespace skein::scaling::fit
