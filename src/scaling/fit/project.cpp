#include <algorithm>
#include <cmath>
#include <limits>

#include "skein/core/numbers.h"

#include "solve.h"

namespace skein::scaling::fit {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::infinity();
constexpr double kGoneLevel = -700;  // level of a term whose factor is 0
constexpr std::array kGrid{0.04, 0.08, 0.13, 0.2, 0.28, 0.38, 0.5, 0.7, 1.0, 1.5};

// min of sum of w (target - sum of x_k u_k)^2 over x >= 0: of every set of terms that are let in,
// the best whose x are positive.
Unknowns non_negative(const UnknownsSquared& normal, const Unknowns& right, size_t n) {
  Unknowns best{};
  double least = 0;
  for (size_t set = 1; set < (size_t{1} << n); ++set) {
    UnknownsSquared matrix{};
    Unknowns side{}, part{};
    std::array<size_t, kMostUnknowns> which{};
    size_t count = 0;
    for (size_t k = 0; k < n; ++k) {
      if (set >> k & 1) which[count++] = k;
    }
    for (size_t i = 0; i < count; ++i) {
      side[i] = right[which[i]];
      for (size_t j = 0; j < count; ++j) matrix[i][j] = normal[which[i]][which[j]];
    }
    if (!solve_positive(matrix, side, narrow<int>(count), part)) continue;
    if (std::any_of(part.begin(), part.begin() + count, [](double x) { return x < 0; })) continue;
    double value = 0;
    for (size_t i = 0; i < count; ++i) value -= side[i] * part[i];
    if (value >= least) continue;
    least = value;
    best.fill(0);
    for (size_t i = 0; i < count; ++i) best[which[i]] = part[i];
  }
  return best;
}

// At given slopes.
class Levels {
 public:
  Levels(const PowerSum& sum, const Criterion& criterion, const Unknowns& slopes)
      : sum_(sum),
        criterion_(criterion),
        n_(sum.terms.size()),
        q_(sum.multiplier < 0 ? 1 : slopes[sum.multiplier]) {
    for (const PowerSum::Term& term : sum.terms) {
      const double slope = term.slope < 0 ? term.fixed : slopes[term.slope];
      columns_.emplace_back(sum.size());
      for (size_t i = 0; i < sum.size(); ++i) columns_.back()[i] = std::exp(slope * term.z[i]);
    }
  }

  // The factors with the least objective.
  double best(Unknowns& factors, int most_rounds) const {
    factors = nearest();
    double value = objective_at(factors);
    for (int round = 0; round < most_rounds; ++round) {
      const Unknowns aim = reweighted(factors);
      double next = kNoValue, share = 1;
      Unknowns tried{};
      for (; share > 1e-6; share /= 2) {
        for (size_t k = 0; k < n_; ++k) tried[k] = factors[k] + share * (aim[k] - factors[k]);
        next = objective_at(tried);
        if (next <= value) break;
      }
      if (!(next <= value)) break;
      factors = tried;
      const bool settled = value - next <= 1e-11 * value;
      value = next;
      if (settled) break;
    }
    return value;
  }

 private:
  double sum_at(const Unknowns& factors, size_t i) const {
    double sum = 0;
    for (size_t k = 0; k < n_; ++k) sum += factors[k] * columns_[k][i];
    return sum;
  }
  double objective_at(const Unknowns& factors) const {
    double value = 0;
    for (size_t i = 0; i < sum_.size(); ++i)
      value +=
          sum_.weight[i] * criterion_.value(q_ * std::log(sum_at(factors, i)) - sum_.ln_loss[i]);
    return std::isfinite(value) ? value : kNoValue;
  }

  template <class Aim>
  Unknowns least_squares(const Aim& aim) const {
    UnknownsSquared normal{};
    Unknowns right{};
    for (size_t i = 0; i < sum_.size(); ++i) {
      const auto [target, weight] = aim(i);
      for (size_t j = 0; j < n_; ++j) {
        right[j] += weight * target * columns_[j][i];
        for (size_t k = 0; k < n_; ++k) normal[j][k] += weight * columns_[j][i] * columns_[k][i];
      }
    }
    return non_negative(normal, right, n_);
  }

  // By squares of relative errors of the sum of powers.
  Unknowns nearest() const {
    return least_squares([&](size_t i) {
      const double target = std::exp(sum_.ln_loss[i] / q_);
      return std::pair{target, sum_.weight[i] / (target * target)};
    });
  }
  // One step of reweighted least squares from there: ln P' = ln P + (P' - P) / P.
  Unknowns reweighted(const Unknowns& factors) const {
    return least_squares([&](size_t i) {
      const double at = sum_at(factors, i), r = sum_.ln_loss[i] - q_ * std::log(at);
      return std::pair{at * (1 + r / q_),
                       sum_.weight[i] * criterion_.majorant(r) * q_ * q_ / (at * at)};
    });
  }

  const PowerSum& sum_;
  const Criterion criterion_;
  size_t n_;
  double q_;
  std::vector<std::vector<double>> columns_;
};

struct Cell {
  Unknowns slopes{};
  double value = 0;
};

std::vector<Cell> scored_cells(const PowerSum& sum, const Criterion& criterion) {
  std::vector<Cell> cells;
  const size_t across = sum.slopes.size() > 1 ? kGrid.size() : 1;
  for (double first : kGrid) {
    for (size_t j = 0; j < across; ++j) {
      Cell cell{{first, sum.slopes.size() > 1 ? kGrid[j] : 0}, 0};
      Unknowns factors{};
      cell.value = Levels(sum, criterion, cell.slopes).best(factors, 5);
      cells.push_back(cell);
    }
  }
  std::ranges::stable_sort(cells, {}, &Cell::value);
  return cells;
}

}  // namespace

Unknowns project(const PowerSum& sum, const Criterion& criterion) {
  const int slopes = narrow<int>(sum.slopes.size());
  const auto value_at = [&](const Unknowns& at) {
    if (std::any_of(at.begin(), at.begin() + slopes,
                    [](double slope) { return slope <= 1e-4 || slope > 20; }))
      return kNoValue;
    Unknowns factors{};
    return Levels(sum, criterion, at).best(factors, 400);
  };
  const std::vector<Cell> cells = scored_cells(sum, criterion);
  Minimum best;
  best.value = kNoValue;
  for (size_t i = 0; i < std::min<size_t>(2, cells.size()); ++i) {
    Minimum found = minimise_by_simplex(value_at, cells[i].slopes, slopes, 0.05, 1e-9);
    found = minimise_by_simplex(value_at, found.at, slopes, 0.01, 1e-10);
    if (found.value < best.value) best = found;
  }
  Unknowns factors{}, made{};
  Levels(sum, criterion, best.at).best(factors, 400);
  for (size_t k = 0; k < sum.terms.size(); ++k)
    made[k] = factors[k] > 0 ? std::log(factors[k]) : kGoneLevel;
  for (size_t k = 0; k < sum.slopes.size(); ++k) made[sum.terms.size() + k] = best.at[k];
  return made;
}

}  // namespace skein::scaling::fit
