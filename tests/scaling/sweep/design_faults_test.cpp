#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "scaling/chinchilla_points.h"
#include "support/expect_error.h"

namespace skein::scaling::sweep {
namespace {

using test::drawn_points;
using test::expect_error;
using test::point_estimate;

const ChinchillaLaw kLaw{1.7, 400, 900, 0.34, 0.33};

// One run for each pair.
std::vector<ScalingPoint> runs_at(const std::vector<std::pair<double, double>>& sizes_and_tokens) {
  std::vector<ScalingPoint> points;
  for (const auto& [n, d] : sizes_and_tokens) {
    const auto i = static_cast<int64_t>(points.size());
    points.push_back({n, d, 6 * n * d,
                      kLaw.loss(n, d) * std::exp(0.01 * normal_at(2, 0, static_cast<uint64_t>(i))),
                      i, i});
  }
  return points;
}

void expect_refused(const std::vector<ScalingPoint>& points,
                    std::initializer_list<std::string> words, int64_t resamples = 0) {
  fit::ParametricOptions options;
  options.resamples = resamples;
  expect_error(ExitCode::usage, words, [&] { fit_chinchilla(points, options); });
}

TEST(DesignFaults, NeedsSixRuns) {
  auto points = drawn_points(kLaw, 2, 3, 0.01, 1);
  points.pop_back();
  expect_refused(points, {"too few points", "at least 6", "there are 5"});
  points = drawn_points(kLaw, 4, 6, 0.01, 1);
  for (ScalingPoint& point : points) point.cluster %= 3;
  expect_refused(points, {"too few runs", "24 points come from 3"}, 50);
  EXPECT_NO_THROW(fit_chinchilla(points, point_estimate()));
}

TEST(DesignFaults, NeedsSizesTokensRatiosAndBudgets) {
  std::vector<std::pair<double, double>> one_size, one_d, one_ratio, one_budget, line, two_sizes,
      two_d;
  for (int i = 0; i < 8; ++i) {
    const double x = std::pow(2.0, i);
    one_size.emplace_back(1e7, 1e8 * x);
    one_d.emplace_back(1e6 * x, 5e9);
    one_ratio.emplace_back(1e6 * x, 2e7 * x);
    one_budget.emplace_back(1e6 * x, 1e10 / x);
    line.emplace_back(1e6 * x, 1e8 * std::sqrt(x));
    two_sizes.emplace_back(i % 2 ? 1e6 : 1e7, 1e8 * x);
    two_d.emplace_back(1e6 * x, i % 2 ? 1e9 : 1e8);
  }
  expect_refused(runs_at(one_size), {"one size only", "all 8 runs have N = 1e+07"});
  expect_refused(runs_at(one_d),
                 {"one D only", "all 8 runs saw 5e+09 tokens", "cannot separate alpha from beta"});
  expect_refused(runs_at(one_ratio), {"one ratio only", "D/N = 20", "cannot separate"});
  expect_refused(runs_at(one_budget), {"one budget only", "N D = 1e+16", "cannot separate"});
  expect_refused(runs_at(line), {"D is a power of N in all 8 runs", "cannot separate"});
  expect_refused(runs_at(two_sizes), {"2 sizes only", "at least 3"});
  expect_refused(runs_at(two_d), {"2 numbers of tokens only", "at least 3"});
}

// As a user met it: six models, one corpus.
TEST(DesignFaults, RefusesSixModelsOnOneCorpus) {
  expect_refused(
      runs_at({{2.6e7, 4e9}, {5e7, 4e9}, {1.04e8, 4e9}, {2e8, 4e9}, {4e8, 4e9}, {8e8, 4e9}}),
      {"one D only", "all 6 runs", "alpha from beta"});
}

TEST(DesignFaults, RefusesLossesThatFitNothing) {
  auto points = drawn_points(kLaw, 3, 4, 0, 1);
  auto constant = points;
  for (ScalingPoint& point : constant) point.loss = 3;
  expect_refused(constant, {"all 12 runs have the loss 3", "constant"});
  for (double loss : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                      std::numeric_limits<double>::infinity()}) {
    auto bad = points;
    bad[4].loss = loss;
    expect_refused(bad, {"run 5", "loss = ", "positive and finite"});
  }
  points[2].d = -5;
  expect_refused(points, {"run 3", "D = -5"});
}

TEST(DesignFaults, RefusesBadOptions) {
  const auto points = drawn_points(kLaw, 3, 4, 0, 1);
  expect_refused(points, {"fit.resamples is -1", "between 0"}, -1);
  expect_refused(points, {"fit.resamples is 1000000000000"}, 1000000000000);
  fit::ParametricOptions options = point_estimate();
  options.delta = 0;
  expect_error(ExitCode::usage, {"fit.delta is 0"}, [&] { fit_chinchilla(points, options); });
}

// Sizes and tokens enough, and the loss knows of one of them only.
TEST(DesignFaults, DoesNotBelieveALossThatIgnoresTokens) {
  const auto points =
      drawn_points([](const ScalingPoint& point) { return 1.7 + 400 * std::pow(point.n, -0.34); },
                   5, 6, 0.002, 1);
  try {
    const fit::ParametricFit fit = fit_chinchilla(points, point_estimate());
    EXPECT_FALSE(fit.convergence.converged && fit.convergence.condition < 1e6)
        << fit.law.b << " " << fit.law.beta << " " << fit.convergence.condition;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace skein::scaling::sweep
