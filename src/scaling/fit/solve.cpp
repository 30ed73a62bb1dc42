#include "solve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::scaling::fit {
namespace {

constexpr double kFirstDelta = 1e-3, kLastDelta = 1e-10;  // of least absolutes
constexpr double kAgreeAtKinks = 1e-3;                    // in place of kAgree
constexpr double kGoneShare = 1e-6;                       // share of the loss
constexpr size_t kBasins = 8, kGridCandidates = 24;       // that resamples start from

double total(const std::vector<double>& values) {
  double sum = 0;
  for (double one : values) sum += one;
  return sum;
}

double objective_of(const PowerSum& sum, const ParametricOptions& options, const Unknowns& at) {
  Criterion criterion = criterion_of(options);
  if (options.kind == LossKind::absolute) criterion.delta = std::numeric_limits<double>::min();
  return in_units(options, objective(sum, criterion, at));
}

double largest_change(const Unknowns& left, const Unknowns& right) {
  double most = 0;
  for (size_t i = 0; i < kMostUnknowns; ++i) most = std::max(most, std::abs(left[i] - right[i]));
  return most;
}

// L-BFGS, then Newton.
Minimum descend(const PowerSum& sum, const Criterion& criterion, const Unknowns& start) {
  const Slope slope = [&](const Unknowns& at, Unknowns& gradient) {
    return objective(sum, criterion, at, &gradient);
  };
  const Minimum near = minimise(slope, start, sum.unknowns(), 1e-7 * total(sum.weight));
  Minimum found = polish(sum, criterion, near.at);
  found.moved = found.at != start;
  return found;
}

// The best of the ends, the share of those that are as good, and the others as candidates.
Minimum best_of(const std::vector<Minimum>& ends, double slack, Solution& solution) {
  std::vector<size_t> order(ends.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto value = [&](size_t i) {
    return std::isfinite(ends[i].value) ? ends[i].value : std::numeric_limits<double>::max();
  };
  std::ranges::stable_sort(order, {}, value);
  const double least = value(order[0]);
  int64_t as_good = 0;
  double last = least;
  for (size_t i : order) {
    as_good += value(i) <= least * (1 + kSame) + slack;
    if (value(i) > last * (1 + kSame) + slack && solution.candidates.size() < kBasins) {
      solution.candidates.push_back(ends[i].at);
      last = value(i);
    }
  }
  solution.convergence.starts = std::ssize(ends);
  solution.convergence.best_share = ratio(as_good, ends.size());
  for (size_t i : order) {
    if (value(i) <= least * (1 + 1e-12) && ends[i].converged) return ends[i];
  }
  return ends[order[0]];
}

// From Huber's criterion to the least absolutes, by a delta that falls until it changes nothing.
Minimum sharpen(const PowerSum& sum, Minimum found) {
  for (double delta = kFirstDelta / 10; delta > kLastDelta; delta /= 10) {
    const bool last = delta < 1e-6;
    const Minimum next = polish(sum, {delta}, found.at, last ? 200 : 60);
    const double change = largest_change(found.at, next.at);
    found = next;
    if (last && change < 1e-8) break;
  }
  return found;
}

std::string why_not_minimum(const PowerSum& sum, const ParametricOptions& options,
                            const Minimum& found, const SecondOrder& there) {
  const std::string gone = degenerate(sum, found.at, false);
  if (!gone.empty()) return gone;
  const std::string unseen = unseen_term(sum, options, found.at);
  if (!unseen.empty()) return unseen;
  if (!found.converged) return found.problem;
  // Least absolutes have no Hessian.
  const std::vector<double> bends = eigenvalues(there.hessian, sum.unknowns());
  if (options.kind != LossKind::absolute && bends.front() < -1e-9 * bends.back())
    return "the end is a saddle, not a minimum: the Hessian has a negative eigenvalue";
  return rank_problem(sum, found.at);
}

void judge(const PowerSum& sum, const ParametricOptions& options, const Minimum& found,
           double second, Solution& solution) {
  const bool absolute = options.kind == LossKind::absolute;
  const SecondOrder there = second_order(sum, criterion_of(options), found.at);
  Convergence& proof = solution.convergence;
  solution.at = found.at;
  solution.objective = objective_of(sum, options, found.at);
  proof.gradient_norm = in_units(options, found.gradient_norm);
  proof.condition = condition_of(absolute ? there.majorant : there.hessian, sum.unknowns());
  proof.second_solver = second;
  proof.problem = why_not_minimum(sum, options, found, there);
  const double allowed = (absolute ? kAgreeAtKinks : kAgree) * solution.objective +
                         in_units(options, 1e-8 * total(sum.weight));
  if (proof.problem.empty() && !(std::abs(second - solution.objective) <= allowed))
    proof.problem = fmt::format("a second solver ended at {:.8g}, the first at {:.8g}", second,
                                solution.objective);
  proof.converged = proof.problem.empty();
}

}  // namespace

double condition_of(const UnknownsSquared& matrix, int n) {
  const std::vector<double> values = eigenvalues(matrix, n);
  return values.front() > 0 ? values.back() / values.front() : kUnknown;
}

double in_units(const ParametricOptions& options, double value) {
  if (options.kind == LossKind::huber) return value * options.delta;
  return options.kind == LossKind::squared ? 2 * value : value;
}

Criterion criterion_of(const ParametricOptions& options) {
  if (options.kind == LossKind::squared) return {std::numeric_limits<double>::infinity()};
  if (options.kind == LossKind::absolute) return {kFirstDelta};
  require(options.delta > 0 && std::isfinite(options.delta),
          "fit.delta is {}; Huber's threshold must be positive, in nats of ln L: 1e-3 as Hoffmann "
          "et al. have it",
          options.delta);
  return {options.delta};
}

Minimum refine(const PowerSum& sum, const ParametricOptions& options, const Unknowns& start) {
  const Minimum found = polish(sum, criterion_of(options), start);
  return options.kind == LossKind::absolute ? sharpen(sum, found) : found;
}

Solution solve(const PowerSum& sum, const ParametricOptions& options,
               std::vector<Unknowns> starts) {
  const Criterion criterion = criterion_of(options);
  if (starts.empty()) starts = scored_starts(sum, criterion);
  const double slack = 1e-9 * total(sum.weight);
  std::vector<Minimum> ends(starts.size());
  in_parallel(std::ssize(starts), options.threads,
              [&](int64_t i) { ends[i] = descend(sum, criterion, starts[i]); });
  Solution solution;
  Minimum best = best_of(ends, slack, solution);
  if (options.kind == LossKind::absolute) best = refine(sum, options, best.at);
  const double near_kinks = std::clamp(2e-3 * best.value / total(sum.weight), 1e-9, 1e-5);
  const Unknowns other =
      project(sum, options.kind == LossKind::absolute ? Criterion{near_kinks} : criterion);
  const Minimum again = refine(sum, options, other);
  if (again.converged && again.value < best.value - slack) {
    if (again.value < best.value * (1 - kSame) - slack) solution.convergence.best_share = 0;
    best = again;
  }
  judge(sum, options, best, objective_of(sum, options, other), solution);
  for (const Unknowns& start : lowest(sum, criterion, starts, kGridCandidates))
    solution.candidates.push_back(start);
  return solution;
}

std::string degenerate(const PowerSum& sum, const Unknowns& at, bool levels_may_vanish) {
  std::array<double, 3> most{};
  for (size_t i = 0; i < sum.size(); ++i) {
    std::array<double, 3> shares{};
    if (sum.weight[i] == 0) continue;
    sum.predict(at, i, nullptr, &shares);
    for (size_t k = 0; k < 3; ++k) most[k] = std::max(most[k], shares[k]);
  }
  const Unknowns levels = uncentred(sum, at);
  for (size_t k = 0; k < sum.terms.size(); ++k) {
    const bool constant = sum.terms[k].slope < 0 && sum.terms[k].fixed == 0;
    if (!std::isfinite(std::exp(levels[k])))
      return fmt::format("{} is beyond every number: these runs do not show it", sum.terms[k].name);
    if (!(most[k] > kGoneShare) && !(constant && levels_may_vanish))
      return fmt::format("{} has vanished from the fit: these runs do not show it",
                         sum.terms[k].name);
  }
  for (size_t k = 0; k < sum.slopes.size(); ++k) {
    if (!(at[sum.terms.size() + k] > 0))
      return fmt::format(
          "{} is {:.4g}, and must be positive: these runs do not show how the loss falls with it",
          sum.slopes[k], at[sum.terms.size() + k]);
  }
  return "";
}

std::string rank_problem(const PowerSum& sum, const Unknowns& at) {
  const size_t n = sum.unknowns();
  UnknownsSquared normal{};
  for (size_t i = 0; i < sum.size(); ++i) {
    Unknowns row{};
    sum.predict(at, i, &row);
    for (size_t j = 0; j < n; ++j) {
      for (size_t k = 0; k < n; ++k) normal[j][k] += row[j] * row[k];
    }
  }
  UnknownsSquared scaled = normal;
  for (size_t j = 0; j < n; ++j) {
    for (size_t k = 0; k < n; ++k)
      scaled[j][k] /= std::sqrt(std::max(normal[j][j] * normal[k][k], 1e-300));
  }
  const std::vector<double> values = eigenvalues(scaled, narrow<int>(n));
  if (values.front() > 1e-12 * values.back()) return "";
  return fmt::format(
      "the runs do not determine the law: its Jacobian has not full rank (smallest over largest "
      "eigenvalue {:.2g}, of {} unknowns and {} runs); vary sizes and tokens further, and "
      "independently",
      values.front() / values.back(), n, sum.size());
}

}  // namespace skein::scaling::fit
