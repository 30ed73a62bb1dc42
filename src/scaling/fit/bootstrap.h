// Points as a set, and resamples of it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "solve.h"

namespace skein::scaling::fit {

// Which rows there are, in an order that depends on what they hold alone, equal rows once; and
// which of them are resampled together.
struct OrderedRows {
  std::vector<size_t> rows;                   // of what was given
  std::vector<std::vector<size_t>> clusters;  // of indices of `rows`
};
OrderedRows order_rows(const std::vector<std::array<double, 4>>& rows,
                       const std::vector<int64_t>& clusters);
// The items, of which these are the rows, in that order.
template <class Item>
std::vector<Item> arranged(std::span<const Item> items, const OrderedRows& rows) {
  std::vector<Item> made;
  for (const size_t i : rows.rows) made.push_back(items[i]);
  return made;
}

// A usage error unless there can be so many.
void require_resamples(int64_t resamples);
// How often each row is in a resample: a pure function of seed and number.
std::vector<double> resample_counts(const OrderedRows& rows, uint64_t seed, int64_t resample);

// Of a resample's sum, refined from the solution and from the two of its candidates that are best
// by the resample's own objective; none where that did not converge or is no law.
std::optional<Unknowns> fit_resample(const PowerSum& sum, const Solution& solution,
                                     const ParametricOptions& options);
// The unknowns of the resamples that converged and are a law, in their order.
std::vector<Unknowns> bootstrap(const PowerSum& sum, const OrderedRows& rows,
                                const Solution& solution, const ParametricOptions& options);

// Quantiles by linear interpolation between order statistics; unknown from fewer than two draws.
Interval interval_of(double value, std::vector<double> draws);

}  // namespace skein::scaling::fit
