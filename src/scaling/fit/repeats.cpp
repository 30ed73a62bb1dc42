#include "repeats.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace skein::scaling::fit {
namespace {

constexpr double kNoDecay = std::numeric_limits<double>::infinity();
constexpr std::array kDecayStarts{0.3, 1.0, 3.0, 10.0, 30.0, 100.0};
constexpr double kFarthest = 20;                          // of a logarithm
constexpr double kLeast = 1e-2, kMost = 1e4;              // beyond these it makes no difference
constexpr double kAim = 1e-9, kConvergedGradient = 1e-6;  // gradient a point
constexpr double kStep = 1e-4;

// d effective / d ln decay.
double growth(double all, double unique, double decay) {
  if (all <= unique || std::isinf(decay)) return 0;
  const double t = (all / unique - 1) / decay;
  return unique * decay * (-std::expm1(-t) - t * std::exp(-t));
}

DataLimitedLaw law_at(const ChinchillaLaw& law, const Unknowns& logs, int unknowns) {
  const auto value = [&](size_t i) { return std::exp(std::clamp(logs[i], -kFarthest, kFarthest)); };
  return {law, value(0), unknowns == 2 ? value(1) : kNoDecay};
}

std::vector<Unknowns> starts_for(int unknowns) {
  std::vector<Unknowns> made;
  for (const double first : kDecayStarts) {
    for (const double second : kDecayStarts) {
      made.push_back({std::log(first), std::log(second)});
      if (unknowns == 1) break;
    }
  }
  return made;
}

}  // namespace

struct Repeats::RepeatMinimum {
  int unknowns = 1;
  Minimum best;
  DataLimitedLaw law;
  int64_t starts = 0;
  double best_share = 0, second = kUnknown;
};

Repeats::Repeats(const ChinchillaLaw& law, std::vector<ScalingPoint> points,
                 std::vector<double> weight, const ParametricOptions& options)
    : law_(law), points_(std::move(points)), weight_(std::move(weight)), options_(options) {
  for (const double one : weight_) total_ += one;
}

double Repeats::objective(const DataLimitedLaw& law, Unknowns& gradient) const {
  const Criterion criterion = criterion_of(options_);
  double value = 0;
  gradient.fill(0);
  for (size_t i = 0; i < points_.size(); ++i) {
    const ScalingPoint& point = points_[i];
    const double unique = point.unique_tokens, best = law.best_parameters(unique);
    const double n = law.effective_parameters(point.n, unique),
                 d = law.effective_tokens(point.d, unique), loss = law_.loss(n, d);
    const double r = std::log(loss / point.loss);
    value += weight_[i] * criterion.value(r);
    const double pull = weight_[i] * criterion.slope(r) / loss;
    gradient[0] -=
        pull * law_.beta * law_.b * std::pow(d, -law_.beta - 1) * growth(point.d, unique, law.r_d);
    gradient[1] -=
        pull * law_.alpha * law_.a * std::pow(n, -law_.alpha - 1) * growth(point.n, best, law.r_n);
  }
  return value;
}

Slope Repeats::slope_of(int unknowns) const {
  return [this, unknowns](const Unknowns& logs, Unknowns& gradient) {
    return objective(law_at(law_, logs, unknowns), gradient);
  };
}

Repeats::RepeatMinimum Repeats::search(int unknowns) const {
  const Slope slope = slope_of(unknowns);
  RepeatMinimum found;
  found.unknowns = unknowns;
  std::vector<Minimum> ends;
  for (const Unknowns& start : starts_for(unknowns))
    ends.push_back(minimise(slope, start, unknowns, kAim * total_));
  found.best = *std::ranges::min_element(ends, {}, &Minimum::value);
  found.starts = std::ssize(ends);
  for (const Minimum& end : ends)
    found.best_share +=
        (end.value <= found.best.value * (1 + kSame) + kAim * total_ ? 1.0 : 0.0) / ends.size();
  const auto value = [&](const Unknowns& logs) {
    Unknowns ignored{};
    return slope(logs, ignored);
  };
  found.second =
      minimise_by_simplex(value, {std::log(10.0), std::log(10.0)}, unknowns, 1, 1e-12).value;
  found.law = law_at(law_, found.best.at, unknowns);
  return found;
}

double Repeats::condition(const RepeatMinimum& found) const {
  UnknownsSquared hessian{};
  const Slope slope = slope_of(found.unknowns);
  const size_t n = found.unknowns;
  for (size_t i = 0; i < n; ++i) {
    Unknowns above = found.best.at, below = above, up{}, down{};
    above[i] += kStep;
    below[i] -= kStep;
    slope(above, up);
    slope(below, down);
    for (size_t j = 0; j < n; ++j) {
      hessian[i][j] += (up[j] - down[j]) / (4 * kStep);
      hessian[j][i] += (up[j] - down[j]) / (4 * kStep);
    }
  }
  return condition_of(hessian, found.unknowns);
}

double Repeats::mean_residual(const DataLimitedLaw& law) const {
  double sum = 0;
  for (size_t i = 0; i < points_.size(); ++i)
    sum += weight_[i] *
           std::abs(std::log(law.loss(points_[i].n, points_[i].d, points_[i].unique_tokens) /
                             points_[i].loss));
  return sum / total_;
}

std::string Repeats::why_no_r_n(const RepeatMinimum& one, const RepeatMinimum& two) const {
  const double left = total_ - two.unknowns, with = mean_residual(two.law),
               without = mean_residual(one.law);
  if (two.law.r_n > kLeast && two.law.r_n < kMost && !by_chance(with, without, left)) return "";
  return fmt::format(
      "the runs that see data again do not show R_N: with it the residuals of ln L are {:.3g} on "
      "average, without it {:.3g}",
      with, without);
}

std::string Repeats::why_not(const RepeatMinimum& found) const {
  const double with = mean_residual(found.law),
               without = mean_residual({law_, kNoDecay, found.law.r_n});
  if (!(found.law.r_d < kMost))
    return "R_D has no end: in these runs data seen again are worth as much as new ones";
  if (!(found.law.r_d > kLeast))
    return "R_D is nothing: in these runs data seen again are worth nothing";
  if (by_chance(with, without, total_ - found.unknowns))
    return fmt::format(
        "R_D is not seen in these runs: with it the residuals of ln L are {:.3g} on average, "
        "without it {:.3g}",
        with, without);
  if (!(found.best.gradient_norm <= kConvergedGradient * total_)) return found.best.problem;
  if (std::isnan(condition(found)))
    return "the end is no minimum: the Hessian has a negative eigenvalue";
  if (!(std::abs(found.second - found.best.value) <= kAgree * found.best.value + 1e-8 * total_))
    return fmt::format("a second solver ended at {:.8g}, the first at {:.8g}",
                       in_units(options_, found.second), in_units(options_, found.best.value));
  return "";
}

void Repeats::solve(DataLimitedFit& fit) const {
  RepeatMinimum found = search(1);
  const auto too_large = [&](const ScalingPoint& point) {
    return point.n > DataLimitedLaw{law_}.best_parameters(point.unique_tokens);
  };
  if (std::none_of(points_.begin(), points_.end(), too_large)) {
    fit.r_n_problem = "no run is larger than what is best for its unique tokens";
  } else {
    const RepeatMinimum two = search(2);
    fit.r_n_problem = why_no_r_n(found, two);
    if (fit.r_n_problem.empty()) found = two;
  }
  fit.law = found.law;
  fit.objective = in_units(options_, found.best.value);
  const std::string problem = why_not(found);
  fit.convergence = {in_units(options_, found.best.gradient_norm),
                     found.starts,
                     found.best_share,
                     condition(found),
                     in_units(options_, found.second),
                     problem.empty(),
                     problem};
}

std::optional<DataLimitedLaw> Repeats::from(const DataLimitedLaw& near) const {
  const int unknowns = std::isinf(near.r_n) ? 1 : 2;
  const Minimum found =
      minimise(slope_of(unknowns), {std::log(near.r_d), unknowns == 2 ? std::log(near.r_n) : 0},
               unknowns, kAim * total_);
  if (!(found.gradient_norm <= kConvergedGradient * total_)) return {};
  return law_at(law_, found.at, unknowns);
}

}  // namespace skein::scaling::fit
