// Runs that see data again, after Muennighoff et al. (2023).
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "skein/scaling/study/study.h"

#include "scaling/chinchilla_points.h"
#include "scaling/table_fixture.h"
#include "support/expect_error.h"

namespace skein::scaling::study {
namespace {

using test::expect_error;
using test::point_estimate;

const DataLimitedLaw kTruth{{1.87, 521, 1488, 0.353, 0.353}, 15.39, 5.31};

// A grid of sizes and tokens on fresh data, and the same sizes over 1.5 to 40 passes of several
// corpora.
std::vector<ScalingPoint> repeated_points(const DataLimitedLaw& law, double noise = 0,
                                          uint64_t seed = 1) {
  std::vector<ScalingPoint> points;
  const auto add = [&](double n, double d, double unique) {
    const auto i = static_cast<int64_t>(points.size());
    const double loss =
        law.loss(n, d, unique) * std::exp(noise * normal_at(seed, 0, static_cast<uint64_t>(i)));
    points.push_back({n, d, 6 * n * d, loss, i, i, unique});
  };
  for (double n = 1e7; n < 5e9; n *= 3)
    for (double d = 2e8; d < 2e11; d *= 5) {
      const auto i = static_cast<int64_t>(points.size());
      points.push_back(
          {n, d, 6 * n * d,
           law.law.loss(n, d) * std::exp(noise * normal_at(seed, 1, static_cast<uint64_t>(i))), i,
           i, kUnknown});
    }
  for (double n = 1e7; n < 5e9; n *= 3)
    for (const double unique : {1e8, 1e9})
      for (const double passes : {1.5, 4.0, 12.0, 40.0}) add(n, passes * unique, unique);
  return points;
}

TEST(FitDataLimited, RecoversALawWithoutNoise) {
  const fit::DataLimitedFit fit = fit_data_limited(repeated_points(kTruth), point_estimate());
  EXPECT_TRUE(fit.fresh.convergence.converged) << fit.fresh.convergence.problem;
  EXPECT_TRUE(fit.convergence.converged) << fit.convergence.problem;
  EXPECT_NEAR(fit.law.law.alpha, 0.353, 1e-6);
  EXPECT_NEAR(fit.law.r_d / 15.39, 1, 1e-5);
  EXPECT_NEAR(fit.law.r_n / 5.31, 1, 1e-5);
  EXPECT_EQ(fit.repeated, 48);
  EXPECT_EQ(fit.convergence.starts, 36);
  EXPECT_GT(fit.convergence.best_share, 0.5);
  EXPECT_GE(fit.convergence.condition, 1);
  EXPECT_EQ(fit.r_d.value, fit.law.r_d);
  EXPECT_TRUE(std::isnan(fit.r_d.low));
}

TEST(FitDataLimited, HasIntervalsThatCoverTheTruth) {
  int d = 0, n = 0;
  constexpr int kSets = 40;
  for (uint64_t set = 0; set < kSets; ++set) {
    fit::ParametricOptions options;
    options.resamples = 100;
    options.seed = set;
    const fit::DataLimitedFit fit =
        fit_data_limited(repeated_points(kTruth, 0.004, 50 + set), options);
    EXPECT_TRUE(fit.convergence.converged) << fit.convergence.problem;
    EXPECT_LE(fit.failed_draws, 5);
    d += fit.r_d.low <= kTruth.r_d && kTruth.r_d <= fit.r_d.high;
    n += fit.r_n.low <= kTruth.r_n && kTruth.r_n <= fit.r_n.high;
  }
  // 38 are expected; a binomial of 40 at 95% falls below 34 in 1 case of a hundred.
  EXPECT_GE(d, 34);
  EXPECT_GE(n, 34);
}

TEST(FitDataLimited, DependsOnNeitherOrderNorThreads) {
  auto points = repeated_points(kTruth, 0.005);
  fit::ParametricOptions options;
  options.resamples = 20;
  options.threads = 1;
  const fit::DataLimitedFit one = fit_data_limited(points, options);
  std::reverse(points.begin(), points.end());
  options.threads = 3;
  const fit::DataLimitedFit other = fit_data_limited(points, options);
  EXPECT_EQ(one.law.r_d, other.law.r_d);
  EXPECT_EQ(one.r_n.low, other.r_n.low);
  EXPECT_EQ(one.r_d.error, other.r_d.error);
}

TEST(FitDataLimited, SaysWhatTheRunsDoNotShow) {
  DataLimitedLaw as_good = kTruth;
  as_good.r_d = as_good.r_n = std::numeric_limits<double>::infinity();
  const fit::DataLimitedFit fit =
      fit_data_limited(repeated_points(as_good, 0.003), point_estimate());
  EXPECT_FALSE(fit.convergence.converged);
  EXPECT_NE(fit.convergence.problem.find("R_D"), std::string::npos) << fit.convergence.problem;
  EXPECT_FALSE(fit.r_n_problem.empty());
  EXPECT_TRUE(std::isnan(fit.r_n.value));

  DataLimitedLaw tokens_alone = kTruth;
  tokens_alone.r_n = std::numeric_limits<double>::infinity();
  const fit::DataLimitedFit one =
      fit_data_limited(repeated_points(tokens_alone, 0.003), point_estimate());
  EXPECT_TRUE(one.convergence.converged) << one.convergence.problem;
  EXPECT_NEAR(one.law.r_d / 15.39, 1, 0.2);
  EXPECT_NE(one.r_n_problem.find("do not show R_N"), std::string::npos) << one.r_n_problem;
}

TEST(FitDataLimited, RefusesRunsWithoutRepeats) {
  auto points = repeated_points(kTruth, 0.003);
  auto fresh = points;
  std::erase_if(fresh, [](const ScalingPoint& point) { return point.repeated(); });
  expect_error(ExitCode::usage, {"column unique_tokens"},
               [&] { fit_data_limited(fresh, point_estimate()); });
  fresh.push_back(points.back());
  expect_error(ExitCode::usage, {"3 or more runs that see data again", "there are 1"},
               [&] { fit_data_limited(fresh, point_estimate()); });
  auto repeated = points;
  std::erase_if(repeated, [](const ScalingPoint& point) { return !point.repeated(); });
  expect_error(ExitCode::usage, {"0 runs on fresh data", "too few points"},
               [&] { fit_data_limited(repeated, point_estimate()); });
  points[3].unique_tokens = -1;
  expect_error(ExitCode::usage, {"run 4 has -1 unique tokens"},
               [&] { fit_data_limited(points, point_estimate()); });
}

ScalingTable table_of(const std::vector<ScalingPoint>& points) {
  std::string rows = "n_params,tokens,unique_tokens,loss\n";
  for (const ScalingPoint& point : points)
    rows += fmt::format(
        "{},{},{},{}\n", point.n, point.d,
        std::isnan(point.unique_tokens) ? "" : fmt::format("{}", point.unique_tokens), point.loss);
  return test::read(rows);
}

TEST(Study, FitsTheDataLimitedLawWhereAColumnTellsOfRepeats) {
  StudyOptions options;
  options.parametric.resamples = 20;
  options.all_conventions = false;
  const Study study = make_study(table_of(repeated_points(kTruth, 0.004)), options);
  ASSERT_TRUE(study.data_limited.fit) << study.data_limited.problem;
  EXPECT_NEAR(study.data_limited.fit->law.r_d / 15.39, 1, 0.2);
  EXPECT_LT(study.data_limited.fit->r_d.low, study.data_limited.fit->r_d.high);
  const std::string warnings = fmt::format("{}", fmt::join(study.warnings, "|"));
  EXPECT_NE(warnings.find("48 runs see data again, up to 40 times"), std::string::npos) << warnings;
  EXPECT_NE(study_json(study).find("\"RD\""), std::string::npos);
  EXPECT_NE(study_text(study).find("48 runs that see data again"), std::string::npos)
      << study_text(study);
}

// Fresh runs of models far beyond the size that is best for their tokens, too.
TEST(Study, FindsNoRunOffADataLimitedLawThatAllLieOn) {
  StudyOptions options;
  options.law = Law::data_limited;
  options.parametric.resamples = 0;
  DataLimitedLaw law = kTruth;
  law.r_n = 2;
  ScalingTable table = table_of(repeated_points(law));
  EXPECT_TRUE(make_study(table, options).outliers.empty());
  table.runs.back().loss *= 2;
  const Study study = make_study(table, options);
  const std::string warnings = fmt::format("{}", fmt::join(study.warnings, "|"));
  EXPECT_NE(warnings.find("off the fitted law: " + table.runs.back().name + " found"),
            std::string::npos)
      << warnings;
}

}  // namespace
}  // namespace skein::scaling::study
