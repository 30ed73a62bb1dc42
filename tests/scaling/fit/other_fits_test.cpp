#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <utility>

#include "scaling/chinchilla_points.h"
#include "support/expect_error.h"

namespace skein::scaling::fit {
namespace {

using test::drawn_points;
using test::expect_error;
using test::point_estimate;

std::vector<XY> pairs_of(int count, const std::function<double(double)>& law, double noise = 0,
                         uint64_t seed = 1) {
  std::vector<XY> pairs;
  for (int i = 0; i < count; ++i) {
    const double x = 1e5 * std::pow(10.0, 4.0 * i / (count - 1));
    pairs.push_back(
        {x, law(x) * std::exp(noise * normal_at(seed, 0, static_cast<uint64_t>(i))), 1, i});
  }
  return pairs;
}

TEST(FitPower, FindsALineAndItsSpread) {
  const PowerLaw truth{3.5, -0.08};
  const PowerFit exact = fit_power(pairs_of(6, [&](double x) { return truth.at(x); }), 50);
  EXPECT_NEAR(exact.law.exponent, -0.08, 1e-12);
  EXPECT_NEAR(exact.law.coefficient, 3.5, 1e-9);
  EXPECT_NEAR(exact.exponent.error, 0, 1e-12);
  int covered = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const PowerFit fit = fit_power(pairs_of(
                                       30, [&](double x) { return truth.at(x); }, 0.05, seed),
                                   400);
    covered += fit.exponent.low <= truth.exponent && truth.exponent <= fit.exponent.high;
  }
  EXPECT_GE(covered, 50);
}

TEST(FitPower, CountsWeights) {
  std::vector<XY> pairs{{1, 1, 1, 0}, {10, 10, 1, 1}, {100, 5, 1e-9, 2}};
  EXPECT_NEAR(fit_power(pairs, 0).law.exponent, 1, 1e-6);
  // Twice the weight is twice the pair.
  pairs = {{1, 1, 2, 0}, {10, 7, 1, 1}, {100, 60, 1, 2}};
  const std::vector<XY> twice{{1, 1, 1, 0}, {1 + 1e-12, 1, 1, 3}, {10, 7, 1, 1}, {100, 60, 1, 2}};
  EXPECT_NEAR(fit_power(pairs, 0).law.exponent, fit_power(twice, 0).law.exponent, 1e-9);
}

TEST(FitPower, DependsOnNoOrder) {
  std::vector<XY> pairs = pairs_of(
      9, [](double x) { return std::pow(x, 0.5); }, 0.1);
  const PowerFit fit = fit_power(pairs, 50);
  std::reverse(pairs.begin(), pairs.end());
  const PowerFit again = fit_power(pairs, 50);
  EXPECT_EQ(again.law.coefficient, fit.law.coefficient);
  EXPECT_EQ(again.exponent.low, fit.exponent.low);
  for (XY& pair : pairs) pair.cluster = 0;
  EXPECT_EQ(fit_power(pairs, 50).exponent.high, fit.exponent.high);
}

TEST(FitPower, RefusesWhatHasNoLine) {
  expect_error(ExitCode::usage, {"2 or more x", "at 1"}, [] {
    fit_power(std::vector<XY>{{3, 1, 1, 0}, {3, 2, 1, 1}});
  });
  expect_error(ExitCode::usage, {"positive x and y", "y = -2"}, [] {
    fit_power(std::vector<XY>{{3, 1, 1, 0}, {4, -2, 1, 1}});
  });
  expect_error(ExitCode::usage, {"weight 0"}, [] {
    fit_power(std::vector<XY>{{3, 1, 1, 0}, {4, 2, 0, 1}});
  });
  EXPECT_TRUE(std::isnan(fit_power(std::vector<XY>{{3, 1, 1, 0}, {4, 2, 1, 1}}).exponent.low));
}

TEST(FitOffsetPower, RecoversALawWithoutNoise) {
  for (const OffsetPowerLaw& truth : {OffsetPowerLaw{1.7, 60, 0.25}, OffsetPowerLaw{0.5, 8, 0.1}}) {
    const OffsetPowerFit fit =
        fit_offset_power(pairs_of(10, [&](double x) { return truth.at(x); }), point_estimate());
    EXPECT_TRUE(fit.convergence.converged) << fit.convergence.problem;
    EXPECT_NEAR(fit.law.e / truth.e, 1, 1e-6);
    EXPECT_NEAR(fit.law.k / truth.k, 1, 1e-6);
    EXPECT_NEAR(fit.law.p / truth.p, 1, 1e-6);
  }
}

TEST(FitOffsetPower, HasIntervalsAroundTheTruth) {
  ParametricOptions options;
  options.resamples = 200;
  const OffsetPowerFit fit =
      fit_offset_power(pairs_of(
                           30, [](double x) { return 1.7 + 60 * std::pow(x, -0.25); }, 0.01),
                       options);
  EXPECT_LT(fit.e.low, 1.7);
  EXPECT_GT(fit.e.high, 1.7);
  EXPECT_LT(fit.p.low, 0.25);
  EXPECT_GT(fit.p.high, 0.25);
  EXPECT_GT(fit.k.error, 0);
}

// What sits on one of its starts and says nothing of it is the failure to avoid.
TEST(FitOffsetPower, SaysWhatItCouldNotFind) {
  const OffsetPowerFit pure = fit_offset_power(
      pairs_of(8, [](double x) { return 30 * std::pow(x, -0.1); }), point_estimate());
  EXPECT_FALSE(pure.convergence.converged);
  EXPECT_NE(pure.convergence.problem.find("E has vanished"), std::string::npos)
      << pure.convergence.problem;
  const OffsetPowerFit rising = fit_offset_power(
      pairs_of(8, [](double x) { return 2 + 0.001 * std::pow(x, 0.3); }), point_estimate());
  EXPECT_FALSE(rising.convergence.converged);
  EXPECT_FALSE(rising.convergence.problem.empty());
  expect_error(ExitCode::usage, {"4 or more x", "3 pairs at 3"}, [] {
    fit_offset_power(pairs_of(3, [](double x) { return 1 + 1 / x; }), point_estimate());
  });
  expect_error(ExitCode::usage, {"all 8 pairs have y = 2"},
               [] { fit_offset_power(pairs_of(8, [](double) { return 2.0; }), point_estimate()); });
}

TEST(FitKaplan, RecoversALawWithoutNoise) {
  const KaplanLaw truth{0.076, 0.103, 6.4e13, 1.8e13};
  const auto points = drawn_points(
      [&](const ScalingPoint& point) { return truth.loss(point.n, point.d); }, 4, 6, 0, 1);
  const KaplanFit fit = fit_kaplan(points, point_estimate());
  EXPECT_TRUE(fit.convergence.converged) << fit.convergence.problem;
  EXPECT_NEAR(fit.law.a_n / truth.a_n, 1, 1e-6);
  EXPECT_NEAR(fit.law.a_d / truth.a_d, 1, 1e-6);
  EXPECT_NEAR(fit.law.n_c / truth.n_c, 1, 1e-4);
  EXPECT_NEAR(fit.law.d_c / truth.d_c, 1, 1e-4);
}

TEST(FitOverTraining, RecoversALawWithoutNoise) {
  const OverTrainingLaw truth{1.8, 40, 90, 0.15};
  const auto loss = [&](const ScalingPoint& point) {
    return truth.loss(point.c, point.d / point.n);
  };
  auto points = drawn_points(loss, 4, 6, 0, 1);
  const OverTrainingFit fit = fit_over_training(points, point_estimate());
  EXPECT_TRUE(fit.convergence.converged) << fit.convergence.problem;
  EXPECT_NEAR(fit.law.e / truth.e, 1, 1e-6);
  EXPECT_NEAR(fit.law.a / truth.a, 1, 1e-6);
  EXPECT_NEAR(fit.law.b / truth.b, 1, 1e-6);
  EXPECT_NEAR(fit.law.h / truth.h, 1, 1e-6);
  points[1].c = kUnknown;
  expect_error(ExitCode::usage, {"C = nan", "FLOPs of every run"},
               [&] { fit_over_training(points, point_estimate()); });
}

TEST(JointFits, RefuseTooFewRuns) {
  auto points = drawn_points({1.7, 400, 900, 0.34, 0.33}, 2, 2, 0.01, 1);
  expect_error(ExitCode::usage, {"too few points", "there are 4"},
               [&] { fit_kaplan(points, point_estimate()); });
  expect_error(ExitCode::usage, {"too few points", "there are 4"},
               [&] { fit_over_training(points, point_estimate()); });
}

// Runs of a pair (N, D) each, whose losses follow Chinchilla's law with noise.
std::vector<ScalingPoint> runs_along(const std::function<std::pair<double, double>(double)>& at) {
  const ChinchillaLaw law{1.7, 400, 900, 0.34, 0.33};
  std::vector<ScalingPoint> points;
  for (int64_t i = 0; i < 8; ++i) {
    const auto [n, d] = at(std::pow(2.0, static_cast<double>(i)));
    const double noise = 0.003 * normal_at(3, 0, static_cast<uint64_t>(i));
    points.push_back({n, d, 6 * n * d, law.loss(n, d) * std::exp(noise), i, i});
  }
  return points;
}

TEST(JointFits, RefuseDesignsThatCannotSayTheirUnknowns) {
  using Pair = std::pair<double, double>;
  const auto one_size = runs_along([](double x) { return Pair{1e8, 1e9 * x}; });
  const auto one_d = runs_along([](double x) { return Pair{1e7 * x, 5e9}; });
  const auto one_ratio = runs_along([](double x) { return Pair{1e6 * x, 2e7 * x}; });
  const auto line = runs_along([](double x) { return Pair{1e6 * x, 1e8 * std::sqrt(x)}; });
  const auto one_budget = runs_along([](double x) { return Pair{1e7 * x, 1e11 / x}; });
  const auto kaplan = [](const auto& points) {
    return [&points] { fit_kaplan(points, point_estimate()); };
  };
  const auto over_training = [](const auto& points) {
    return [&points] { fit_over_training(points, point_estimate()); };
  };
  expect_error(ExitCode::usage, {"one size only", "N = 1e+08", "Nc from aN"}, kaplan(one_size));
  expect_error(ExitCode::usage, {"one D only", "5e+09 tokens", "Dc from aD"}, kaplan(one_d));
  for (const auto* points : {&one_ratio, &line, &one_budget})
    expect_error(ExitCode::usage, {"D is a power of N", "aN from aD"}, kaplan(*points));
  expect_error(ExitCode::usage, {"one ratio only", "D/N = 20", "a M^h from b M^-h"},
               over_training(one_ratio));
  expect_error(ExitCode::usage, {"one budget only", "C = 6e+18", "falls with C"},
               over_training(one_budget));
}

}  // namespace
}  // namespace skein::scaling::fit
