#include "skein/scaling/fit/isoflop.h"

#include <cmath>
#include <fmt/ranges.h>
#include <map>

#include "skein/core/philox.h"

#include "budgets.h"
#include "intervals.h"
#include "parabola.h"

namespace skein::scaling::fit {
namespace {

constexpr size_t kFewestBudgets = 3;
constexpr size_t kMostNamed = 6;

std::vector<IsoflopBudget> begun(std::span<const ScalingPoint> points, double tolerance) {
  std::vector<IsoflopBudget> budgets;
  for (std::vector<int64_t>& members : budgets_of(points, tolerance)) {
    const double first = points[members.front()].c, last = points[members.back()].c;
    double sum = 0;
    for (const int64_t i : members) sum += std::log(points[i].c);
    IsoflopBudget& budget = budgets.emplace_back();
    budget.flops = first == last ? first : std::exp(sum / members.size());
    budget.points = std::move(members);
  }
  return budgets;
}

struct Parabolas {
  Parabola n, d;
};

Parabolas parabolas(std::span<const ScalingPoint> points, std::span<const int64_t> chosen) {
  std::vector<Dot> n, d;
  for (const int64_t i : chosen) {
    const ScalingPoint& point = points[i];
    n.push_back({std::log(point.n), point.loss});
    d.push_back({std::log(point.d), point.loss});
  }
  return {fit_parabola(n), fit_parabola(d)};
}

std::string problem_of(const Parabolas& fits) {
  if (!fits.n.problem.empty()) return fits.n.problem;
  if (fits.d.problem.empty()) return "";
  return fits.d.problem.starts_with("minimum") ? "minimum over tokens at the edge"
                                               : "over tokens: " + fits.d.problem;
}

void find_vertex(IsoflopBudget& budget, std::span<const ScalingPoint> points) {
  const Parabolas fits = parabolas(points, budget.points);
  budget.problem = problem_of(fits);
  budget.curvature = fits.n.curvature;
  budget.half_width = fits.n.half_width;
  if (!budget.problem.empty()) return;
  budget.centre_offset = fits.n.centre - fits.n.x;
  budget.n = std::exp(fits.n.x);
  budget.d = std::exp(fits.d.x);
  budget.loss = fits.n.y;
  if (!(budget.loss > 0)) budget.problem = "the parabola's minimum is no loss above 0";
}

void leave_out(IsoflopBudget& budget, int64_t fewest_runs) {
  budget.problem = fmt::format("fewer than {} runs", fewest_runs);
  budget.n = budget.d = budget.loss = budget.centre_offset = kUnknown;
}

// "concave at 1e+18, 2e+18 FLOPs; two sizes at 5e+18 FLOPs".
std::string problems_of(const std::vector<IsoflopBudget>& budgets) {
  std::map<std::string, std::vector<std::string>> at;
  for (const IsoflopBudget& budget : budgets)
    at[budget.problem.empty() ? "inside" : budget.problem].push_back(
        fmt::format("{:.3g}", budget.flops));
  std::vector<std::string> said;
  for (auto& [problem, flops] : at) {
    const size_t count = flops.size();
    if (count > kMostNamed) flops.resize(kMostNamed);
    said.push_back(
        fmt::format("{} at {}{} FLOPs", problem, fmt::join(flops, ", "),
                    count > kMostNamed ? fmt::format(" and {} more", count - kMostNamed) : ""));
  }
  return fmt::format("{}", fmt::join(said, "; "));
}

BestOfC vertices_of(const std::vector<IsoflopBudget>& budgets) {
  BestOfC vertices;
  for (size_t i = 0; i < budgets.size(); ++i)
    if (const IsoflopBudget& budget = budgets[i]; budget.problem.empty())
      vertices.add(budget.flops, budget.n, budget.d, budget.loss, i);
  return vertices;
}

// Points of one cluster come together.
std::vector<std::vector<int64_t>> clusters_of(const IsoflopBudget& budget,
                                              std::span<const ScalingPoint> points) {
  std::map<int64_t, std::vector<int64_t>> clusters;
  for (const int64_t i : budget.points) clusters[points[i].cluster].push_back(i);
  std::vector<std::vector<int64_t>> listed;
  for (auto& [cluster, members] : clusters) listed.push_back(std::move(members));
  return listed;
}

class BudgetResampler {
 public:
  BudgetResampler(std::span<const ScalingPoint> points, const std::vector<IsoflopBudget>& budgets,
                  uint64_t seed)
      : points_(points), budgets_(budgets), key_(derive_key(seed, "isoflop")) {
    for (const IsoflopBudget& budget : budgets) clusters_.push_back(clusters_of(budget, points));
  }

  std::optional<BestOfC> resample(int64_t number) const {
    std::vector<IsoflopBudget> drawn_budgets;
    uint64_t index = 0;
    for (size_t i = 0; i < budgets_.size(); ++i) {
      if (!budgets_[i].problem.empty()) continue;
      IsoflopBudget budget;
      budget.flops = budgets_[i].flops;
      for (size_t draw = 0; draw < clusters_[i].size(); ++draw) {
        const auto& members = clusters_[i][drawn(key_, number, index++, clusters_[i].size())];
        budget.points.insert(budget.points.end(), members.begin(), members.end());
      }
      find_vertex(budget, points_);
      drawn_budgets.push_back(std::move(budget));
    }
    const BestOfC vertices = vertices_of(drawn_budgets);
    return vertices.n.size() < kFewestBudgets ? std::nullopt : std::optional(vertices);
  }

 private:
  std::span<const ScalingPoint> points_;
  const std::vector<IsoflopBudget>& budgets_;
  uint64_t key_;
  std::vector<std::vector<std::vector<int64_t>>> clusters_;
};

}  // namespace

IsoflopFit fit_isoflop(std::span<const ScalingPoint> points, const IsoflopOptions& options) {
  IsoflopFit fit;
  fit.budgets = begun(points, options.tolerance);
  size_t good = 0;
  for (IsoflopBudget& budget : fit.budgets) {
    find_vertex(budget, points);
    if (budget.problem.empty() && std::ssize(budget.points) < options.fewest_runs)
      leave_out(budget, options.fewest_runs);
    good += budget.problem.empty();
  }
  if (good < kFewestBudgets) {
    fit.problem = fmt::format(
        "{} of {} budgets have their minimum inside of the sizes; a power law needs {} ({})", good,
        fit.budgets.size(), kFewestBudgets, problems_of(fit.budgets));
    return fit;
  }
  fit.resamples = options.resamples;
  const BudgetResampler resampler(points, fit.budgets, options.seed);
  const auto resample = [&](int64_t i) { return resampler.resample(i); };
  fit_laws(fit, vertices_of(fit.budgets), resample, options, fit.budgets.size());
  return fit;
}

PowerLaw flops_per_token(std::span<const ScalingPoint> points) {
  std::vector<XY> pairs;
  bool six = true;
  for (const ScalingPoint& point : points) {
    six &= std::abs(point.c / (6 * point.n * point.d) - 1) < 1e-6;
    pairs.push_back({point.n, point.c / point.d, 1, point.cluster});
  }
  return six ? PowerLaw{6, 1} : power_through(pairs);
}

// With m = N^s, C = k m D, and the loss is a law of m and D whose alpha is alpha / s.
Optimum efficient(const ChinchillaLaw& law, double flops, const PowerLaw& flops_per_token) {
  const double s = flops_per_token.exponent;
  const ChinchillaLaw of_power{law.e, law.a, law.b, law.alpha / s, law.beta};
  Optimum best = optimum(of_power, flops, flops_per_token.coefficient);
  best.n = std::pow(best.n, 1 / s);
  return best;
}

double efficient_exponent(const ChinchillaLaw& law, const PowerLaw& flops_per_token) {
  return law.beta / (law.alpha + flops_per_token.exponent * law.beta);
}

void find_bias(IsoflopFit& fit, std::span<const ScalingPoint> points, const ChinchillaLaw& law,
               const PowerLaw& flops_per_token) {
  std::vector<ScalingPoint> exact(points.begin(), points.end());
  for (ScalingPoint& point : exact) point.loss = law.loss(point.n, point.d);
  for (IsoflopBudget& budget : fit.budgets) {
    if (!budget.problem.empty()) continue;
    IsoflopBudget noiseless = budget;
    find_vertex(noiseless, exact);
    const Optimum best = efficient(law, budget.flops, flops_per_token);
    if (!noiseless.problem.empty()) continue;
    budget.n_bias = noiseless.n / best.n - 1;
    budget.d_bias = noiseless.d / best.d - 1;
  }
}

}  // namespace skein::scaling::fit
