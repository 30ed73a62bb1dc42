// Laws that others have published, as a plan goes by them.
#include <array>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/philox.h"

#include "search.h"

namespace skein::scaling::plan {
namespace {

constexpr int64_t kDraws = 2000;

// Mean over 4,000 resamples, seed 42, of the 240 runs, and lower triangle of the Cholesky factor of
// the covariance, of ln(A / N^alpha), ln(B / D^beta) and the loss at N = 1e9 and D = 2e10, amid the
// runs, of alpha and of beta: there these numbers are near to normal, where A, B and E are not.
// From what `skein fit tests/scaling/data/chinchilla_245.csv --fit.drop_highest_losses=5
// --fit.loss=absolute` gives.
constexpr size_t kNumbers = 5;
constexpr double kMiddleN = 1e9, kMiddleD = 2e10;
constexpr std::array<double, kNumbers> kReplicationMean{-1.02431843, -1.04402312, 2.52877053,
                                                        0.346353603, 0.369459255};
constexpr std::array<std::array<double, kNumbers>, kNumbers> kReplicationFactor{
    {{0.06429007, 0, 0, 0, 0},
     {-0.02443145, 0.0637497, 0, 0, 0},
     {-0.0004631654, 0.000811115, 0.0012477, 0, 0},
     {-0.01573593, -0.0007149433, -0.0008916301, 0.002212311, 0},
     {0.006459785, -0.01927108, -0.0009388815, -0.001831245, 0.002486157}}};

ChinchillaLaw law_through(const std::array<double, kNumbers>& at) {
  const auto& [ln_size_part, ln_data_part, loss, alpha, beta] = at;
  return {loss - std::exp(ln_size_part) - std::exp(ln_data_part),
          std::exp(ln_size_part) * std::pow(kMiddleN, alpha),
          std::exp(ln_data_part) * std::pow(kMiddleD, beta), alpha, beta};
}

PlanLaw plan_law_of(const PublishedLaw& given) {
  PlanLaw law;
  law.name = given.name;
  law.source = given.source;
  law.kaplan = given.name == "kaplan";
  law.convention = {law.kaplan ? ParameterCount::blocks : ParameterCount::all, FlopCount::six_n};
  law.fit.law = given.law;
  law.fit.convergence.converged = true;
  if (given.name == "chinchilla-replication") law.fit.draws = replication_draws(kDraws);
  law.n_exponent = law.kaplan ? fit::Interval{0.73}
                              : fit::band(law.fit.law, law.fit.draws, &ChinchillaLaw::n_exponent);
  law.intervals = given.intervals;
  law.repeats = fmt::format("R_D {}, R_N {}", law.r_d, law.r_n);
  law.largest_flops = given.largest_flops;
  return law;
}

}  // namespace

std::vector<ChinchillaLaw> replication_draws(int64_t count) {
  const uint64_t key = derive_key(42, "draws of the replication");
  std::vector<ChinchillaLaw> draws;
  for (int64_t i = 0; i < count; ++i) {
    std::array<double, kNumbers> at = kReplicationMean;
    for (size_t row = 0; row < kNumbers; ++row)
      for (size_t column = 0; column <= row; ++column)
        at[row] += kReplicationFactor[row][column] * normal_at(key, i, column);
    draws.push_back(law_through(at));
  }
  return draws;
}

PlanLaw published_plan_law(const std::string& name) {
  for (const PublishedLaw& law : published_laws())
    if (law.name == name) return plan_law_of(law);
  fail_usage("plan.law={} is not known; there are {}; or give plan.fit=FILE.json of `skein fit`",
             name, names_of(published_laws()));
}

}  // namespace skein::scaling::plan
