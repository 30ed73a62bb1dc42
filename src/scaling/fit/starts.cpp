#include <algorithm>
#include <cmath>
#include <utility>

#include "solve.h"

namespace skein::scaling::fit {
namespace {

constexpr std::array kSlopes{0.03, 0.06, 0.1, 0.15, 0.2, 0.27, 0.35, 0.45, 0.6, 0.8, 1.1, 1.6};
constexpr std::array kConstantShares{0.05, 0.25, 0.5, 0.7, 0.85, 0.95};
constexpr std::array kSplits{0.1, 0.3, 0.5, 0.7, 0.9};
constexpr size_t kBest = 40, kSpread = 40;

bool has_constant(const PowerSum& sum) {
  const PowerSum::Term& last = sum.terms.back();
  return last.slope < 0 && last.fixed == 0;
}

// How the terms may share the loss at the centre of the covariates.
std::vector<std::vector<double>> shares_of(const PowerSum& sum) {
  const bool constant = has_constant(sum);
  const size_t powers = sum.terms.size() - (constant ? 1 : 0);
  std::vector<std::vector<double>> made;
  for (size_t i = 0; i < (constant ? kConstantShares.size() : 1); ++i) {
    const double rest = constant ? 1 - kConstantShares[i] : 1;
    for (size_t j = 0; j < (powers == 2 ? kSplits.size() : 1); ++j) {
      std::vector<double>& shares = made.emplace_back();
      if (powers == 1) shares = {rest};
      if (powers == 2) shares = {rest * kSplits[j], rest * (1 - kSplits[j])};
      if (constant) shares.push_back(kConstantShares[i]);
    }
  }
  return made;
}

// All combinations of so many values.
std::vector<std::vector<double>> combinations(size_t count) {
  std::vector<std::vector<double>> made{{}};
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::vector<double>> longer;
    for (const auto& one : made) {
      for (double slope : kSlopes) {
        longer.push_back(one);
        longer.back().push_back(slope);
      }
    }
    made = std::move(longer);
  }
  return made;
}

std::vector<Unknowns> dense_grid(const PowerSum& sum) {
  double mean = 0, total = 0;
  for (size_t i = 0; i < sum.size(); ++i)
    mean += sum.weight[i] * sum.ln_loss[i], total += sum.weight[i];
  mean /= total;
  std::vector<Unknowns> made;
  const auto shares = shares_of(sum);
  for (const std::vector<double>& slopes : combinations(sum.slopes.size())) {
    const double q = sum.multiplier < 0 ? 1 : slopes[sum.multiplier];
    for (const std::vector<double>& share : shares) {
      Unknowns at{};
      for (size_t k = 0; k < share.size(); ++k) at[k] = mean / q + std::log(share[k]);
      std::copy(slopes.begin(), slopes.end(), at.begin() + share.size());
      made.push_back(at);
    }
  }
  return made;
}

using Ranked = std::pair<double, size_t>;  // the objective of a start, by its index

// Lowest objective first; without those that have none.
std::vector<Ranked> ranking(const PowerSum& sum, const Criterion& criterion,
                            const std::vector<Unknowns>& starts) {
  std::vector<Ranked> made;
  for (size_t i = 0; i < starts.size(); ++i) {
    const double value = objective(sum, criterion, starts[i]);
    if (std::isfinite(value)) made.push_back({value, i});
  }
  std::sort(made.begin(), made.end());
  return made;
}

}  // namespace

std::vector<Unknowns> lowest(const PowerSum& sum, const Criterion& criterion,
                             const std::vector<Unknowns>& starts, size_t count) {
  const std::vector<Ranked> ranked = ranking(sum, criterion, starts);
  std::vector<Unknowns> made;
  for (size_t i = 0; i < std::min(count, ranked.size()); ++i)
    made.push_back(starts[ranked[i].second]);
  return made;
}

std::vector<Unknowns> scored_starts(const PowerSum& sum, const Criterion& criterion) {
  const std::vector<Unknowns> grid = dense_grid(sum);
  const std::vector<Ranked> rank = ranking(sum, criterion, grid);
  std::vector<Unknowns> made;
  const size_t best = std::min(kBest, rank.size()), rest = rank.size() - best,
               spread = std::min(kSpread, rest);
  for (size_t i = 0; i < best; ++i) made.push_back(grid[rank[i].second]);
  for (size_t i = 0; i < spread; ++i) made.push_back(grid[rank[best + i * rest / spread].second]);
  return made;
}

}  // namespace skein::scaling::fit
