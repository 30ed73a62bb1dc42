#include "skein/scaling/fit/isoflop.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "scaling/table_fixture.h"
#include "support/expect_error.h"

namespace skein::scaling::fit {
namespace {

using test::isoflop_table;
using test::TrueLaw;

// The loss is a parabola over ln n at every budget: what approach 2 takes for granted.
struct ParabolicLaw {
  double slope = 0.5;
  double best_n(double c) const { return 0.1 * std::pow(c, slope); }
  double loss(double n, double d) const {
    const double c = 6 * n * d, off = std::log(n / best_n(c));
    return 2 + 500 * std::pow(c, -0.15) + 0.03 * off * off;
  }
};

std::vector<ScalingPoint> points_in(const ScalingTable& table) { return points_of(table, {}); }

TEST(Isoflop, FindsParabolasToTheLastDigits) {
  const auto fit =
      fit_isoflop(points_in(isoflop_table(ParabolicLaw(), 4, 7, 1.5)), {.resamples = 0});
  ASSERT_TRUE(fit.valid()) << fit.problem;
  ASSERT_EQ(fit.budgets.size(), 4u);
  for (const IsoflopBudget& budget : fit.budgets) {
    EXPECT_NEAR(budget.n / ParabolicLaw().best_n(budget.flops), 1, 1e-8);
    EXPECT_NEAR(6 * budget.n * budget.d / budget.flops, 1, 1e-8);
    EXPECT_NEAR(budget.curvature, 0.06, 1e-8);
    EXPECT_NEAR(budget.half_width, 3 * std::log(1.5), 1e-9);
    EXPECT_NEAR(budget.centre_offset, 0, 1e-8);
    EXPECT_NEAR(budget.loss, 2 + 500 * std::pow(budget.flops, -0.15), 1e-8);
  }
  EXPECT_NEAR(fit.n_of_c.law.exponent, 0.5, 1e-9);
  EXPECT_NEAR(fit.n_of_c.law.coefficient, 0.1, 1e-7);
  EXPECT_NEAR(fit.d_of_c.law.exponent, 0.5, 1e-9);
}

TEST(Isoflop, SaysWhereTheGridIsOffItsMinimum) {
  const auto fit =
      fit_isoflop(points_in(isoflop_table(ParabolicLaw(), 3, 7, 1.5, 0, 1.4)), {.resamples = 0});
  ASSERT_TRUE(fit.valid());
  for (const IsoflopBudget& budget : fit.budgets)
    EXPECT_NEAR(budget.centre_offset, std::log(1.4), 1e-8);
}

TEST(Isoflop, ExponentsOfALawStayAndItsCoefficientsAreBiased) {
  TrueLaw law;
  law.alpha = 0.465;
  law.beta = 0.155;
  const auto points = points_in(isoflop_table(law, 5, 9, std::pow(8.0, 0.25)));
  auto fit = fit_isoflop(points, {.resamples = 0});
  ASSERT_TRUE(fit.valid()) << fit.problem;
  EXPECT_NEAR(fit.n_of_c.law.exponent, law.exponent(), 1e-6);
  find_bias(fit, points, {law.e, law.a, law.b, law.alpha, law.beta}, {6, 1});
  for (const IsoflopBudget& budget : fit.budgets) {
    EXPECT_NEAR(budget.n / law.best_n(budget.flops) - 1, budget.n_bias, 1e-6);
    EXPECT_LT(budget.d_bias, -0.05);
    EXPECT_GT(budget.d_bias, -0.3);
  }
}

TEST(Isoflop, BudgetsWithoutAVertexAreNamedAndLeftOut) {
  auto table = isoflop_table(ParabolicLaw(), 7, 5, 1.5);
  const auto run = [&](int budget, int size) -> ScalingRun& {
    return table.runs[static_cast<size_t>(5 * budget + size)];
  };
  for (int i = 0; i < 5; ++i) {
    run(1, i).loss = 3 - 0.01 * i * i;             // concave
    run(3, i).loss = 3 - 0.1 * i + 0.001 * i * i;  // falls to the largest
    run(5, i).loss = 3;                            // flat
  }
  for (int i = 2; i < 5; ++i) run(6, i).status = "failed";  // two sizes
  const auto fit = fit_isoflop(points_in(table), {.resamples = 0});
  ASSERT_EQ(fit.budgets.size(), 7u);
  EXPECT_TRUE(fit.valid());
  EXPECT_EQ(fit.budgets[1].problem, "concave");
  EXPECT_EQ(fit.budgets[3].problem, "minimum beyond the largest size");
  EXPECT_EQ(fit.budgets[5].problem, "the same loss at all sizes");
  EXPECT_EQ(fit.budgets[6].problem, "two sizes");
  EXPECT_TRUE(std::isnan(fit.budgets[1].n));
  EXPECT_NEAR(fit.n_of_c.law.exponent, 0.5, 1e-9);
}

TEST(Isoflop, BudgetsWithFewerRunsThanAskedForDoNotCount) {
  auto table = isoflop_table(ParabolicLaw(), 4, 5, 1.5);
  table.runs[0].status = "failed";
  const auto fit = fit_isoflop(points_in(table), {.fewest_runs = 5, .resamples = 0});
  EXPECT_TRUE(fit.valid());
  EXPECT_EQ(fit.budgets[0].problem, "fewer than 5 runs");
  EXPECT_TRUE(std::isnan(fit.budgets[0].n));
  EXPECT_EQ(fit.budgets[1].problem, "");
}

TEST(Isoflop, NeedsThreeBudgetsWithAMinimum) {
  const auto fit = fit_isoflop(points_in(isoflop_table(ParabolicLaw(), 2, 5, 1.5)), {});
  EXPECT_FALSE(fit.valid());
  EXPECT_NE(fit.problem.find("2 of 2 budgets"), std::string::npos) << fit.problem;
  EXPECT_TRUE(std::isnan(fit.n_of_c.exponent.value));
  test::expect_error(ExitCode::usage, {"fit.budget_tolerance=2"},
                     [&] { fit_isoflop({}, {.tolerance = 2}); });
}

TEST(Isoflop, BudgetsTakeInWhatIsWithinTheTolerance) {
  auto table = isoflop_table(ParabolicLaw(), 3, 5, 1.5);
  for (size_t i = 0; i < table.runs.size(); ++i)
    table.runs[i].flops *= 1 + 0.04 * test::uniform(2, i);
  EXPECT_EQ(fit_isoflop(points_in(table), {.resamples = 0}).budgets.size(), 3u);
  EXPECT_GT(fit_isoflop(points_in(table), {.tolerance = 1e-4, .resamples = 0}).budgets.size(), 10u);
}

TEST(Isoflop, IntervalsHoldTheTruthAndDoNotDependOnOrder) {
  auto table = isoflop_table(ParabolicLaw(), 5, 9, 1.5, 0.002);
  const auto fit = fit_isoflop(points_in(table), {.resamples = 400});
  EXPECT_LT(fit.n_of_c.exponent.low, 0.5);
  EXPECT_GT(fit.n_of_c.exponent.high, 0.5);
  EXPECT_GT(fit.n_of_c.exponent.error, 1e-4);
  EXPECT_LT(fit.n_of_c.exponent.error, 0.1);
  std::reverse(table.runs.begin(), table.runs.end());
  const auto other = fit_isoflop(points_in(table), {.resamples = 400});
  EXPECT_EQ(fit.n_of_c.exponent.low, other.n_of_c.exponent.low);
  EXPECT_EQ(fit.n_of_c.law.coefficient, other.n_of_c.law.coefficient);
}

TEST(Isoflop, CoversTheTruthAtItsNominalRate) {
  int inside = 0;
  constexpr int kSets = 60;
  for (int set = 0; set < kSets; ++set) {
    auto table = isoflop_table(ParabolicLaw(), 5, 12, 1.35);
    for (size_t i = 0; i < table.runs.size(); ++i) {
      double noise = 0;
      for (int k = 0; k < 12; ++k)
        noise += test::uniform(static_cast<uint64_t>(set), i * 12 + static_cast<uint64_t>(k)) - 0.5;
      table.runs[i].loss *= 1 + 0.003 * noise;
    }
    const Interval a = fit_isoflop(points_in(table), {.resamples = 200, .seed = 7}).n_of_c.exponent;
    inside += a.low <= 0.5 && 0.5 <= a.high;
  }
  // 57 are expected; a binomial of 60 at 95% falls below 51 in 3 cases of a thousand.
  EXPECT_GE(inside, 51);
}

TEST(Envelope, FollowsTheLowestCurve) {
  const auto fit = fit_envelope(test::curves_table(12, 1.5), {}, {.resamples = 100, .seed = 1});
  ASSERT_TRUE(fit.valid()) << fit.problem;
  EXPECT_TRUE(fit.from_curves);
  EXPECT_NEAR(fit.n_of_c.law.exponent, TrueLaw().exponent(), 0.02);
  EXPECT_NEAR(fit.n_of_c.law.exponent + fit.d_of_c.law.exponent, 1, 1e-9);
  EXPECT_LT(fit.loss_of_c.law.exponent, 0);
  for (const EnvelopePoint& point : fit.envelope) {
    EXPECT_GT(point.n, 1e7);
    EXPECT_LT(point.n, 1e7 * std::pow(1.5, 10.5));
  }
  EXPECT_LT(fit.n_of_c.exponent.low, fit.n_of_c.exponent.high);
}

TEST(Envelope, NeedsModelsBetweenTheSmallestAndTheLargest) {
  const auto fit = fit_envelope(test::curves_table(3, 1.5), {}, {.resamples = 0, .seed = 1});
  EXPECT_FALSE(fit.valid());
  EXPECT_NE(fit.problem.find("fewer than 3 models"), std::string::npos);
}

TEST(Isoflop, SaysOfEachBudgetWhyItDoesNotCount) {
  auto points = points_of(isoflop_table(TrueLaw(), 4, 5, 1.5), {});
  for (ScalingPoint& point : points)
    if (point.c == 1e18)
      point.loss = 3 - 0.1 * std::pow(std::log(point.n / TrueLaw().best_n(1e18)), 2);
    else if (point.c == 1.6e19)
      point.loss =
          2.5 + 0.1 * std::log(point.n / 1e8) + 0.005 * std::pow(std::log(point.n / 1e8), 2);
    else if (point.c == 6.4e19)
      point.n = 1e9;
  const std::string problem = fit_isoflop(points, {.resamples = 0, .seed = 1}).problem;
  EXPECT_EQ(problem,
            "1 of 4 budgets have their minimum inside of the sizes; a power law needs 3 (concave "
            "at 1e+18 FLOPs; inside at 4e+18 FLOPs; minimum below the smallest size at 1.6e+19 "
            "FLOPs; one size at 6.4e+19 FLOPs)");
}

TEST(Envelope, CountsTheRunsWhoseCurvesAreMissing) {
  auto table = test::curves_table(12, 1.5);
  for (const size_t i : {2, 7}) table.runs[i].curve.clear();
  const auto fit = fit_envelope(table, {}, {.resamples = 0, .seed = 1});
  EXPECT_FALSE(fit.from_curves);
  EXPECT_EQ(fit.without_curves, 2);
}

TEST(Envelope, GoesByLastLossesWithoutCurves) {
  const auto fit =
      fit_envelope(isoflop_table(TrueLaw(), 6, 7, 1.3), {}, {.resamples = 0, .seed = 1});
  ASSERT_TRUE(fit.valid()) << fit.problem;
  EXPECT_FALSE(fit.from_curves);
  EXPECT_EQ(fit.envelope.size(), 6u);
  EXPECT_EQ(fit.budgets, 6);
  EXPECT_NEAR(fit.n_of_c.law.exponent, TrueLaw().exponent(), 0.03);
}

// N* ~ C^.45.
struct SlowLaw {
  double alpha = 0.36, beta = alpha * 0.45 / 0.55;
  double loss(double n, double d) const {
    return 1.7 + 400 * std::pow(n, -alpha) + 900 * std::pow(d, -beta);
  }
  double best_n(double c) const {
    return std::pow(alpha * 400 / (beta * 900), 1 / (alpha + beta)) * std::pow(c / 6, 0.45);
  }
};

ScalingTable table_of(const std::vector<std::pair<double, double>>& sizes_and_tokens) {
  ScalingTable table;
  for (const auto& [n, d] : sizes_and_tokens) {
    ScalingRun run;
    run.name = fmt::format("run{}", table.runs.size());
    run.n_params = n;
    run.tokens = d;
    run.flops = 6 * n * d;
    run.loss = SlowLaw().loss(n, d);
    table.runs.push_back(run);
  }
  return table;
}

TEST(Envelope, RefusesATableOfOneRatio) {
  std::vector<std::pair<double, double>> runs;
  // So close that a budget holds several sizes: they have more or less of both.
  for (int i = 0; i < 120; ++i)
    runs.emplace_back(1e7 * std::pow(1.03, i), 20e7 * std::pow(1.03, i));
  const auto fit = fit_envelope(table_of(runs), {}, {.resamples = 20});
  EXPECT_FALSE(fit.valid());
  EXPECT_TRUE(fit.envelope.empty());
  EXPECT_TRUE(std::isnan(fit.n_of_c.exponent.value));
  for (const char* part : {"0 of ", "bounds nothing", "to either side of the best", "data.curves"})
    EXPECT_NE(fit.problem.find(part), std::string::npos) << fit.problem;
}

TEST(Envelope, RefusesSizesToOneSideOfTheBest) {
  std::vector<std::pair<double, double>> runs;
  for (int budget = 0; budget < 6; ++budget)
    for (int size = 0; size < 5; ++size) {
      const double c = 1e18 * std::pow(4.0, budget),
                   n = SlowLaw().best_n(c) * 8 * std::pow(1.5, size) * std::pow(1.6, budget);
      runs.emplace_back(n, c / 6 / n);
    }
  const auto fit = fit_envelope(table_of(runs), {}, {.resamples = 20});
  EXPECT_FALSE(fit.valid());
  EXPECT_NE(fit.problem.find("0 of 6 budgets"), std::string::npos) << fit.problem;
}

TEST(Envelope, LeavesOutTheBudgetsWhoseBestLiesAtTheEdge) {
  auto table = isoflop_table(TrueLaw(), 7, 7, 1.3);
  for (ScalingRun& run : table.runs)
    if (run.flops == 1.6e19)
      run.n_params *= 6, run.tokens /= 6, run.loss = TrueLaw().loss(run.n_params, run.tokens);
  const auto fit = fit_envelope(table, {}, {.resamples = 0});
  ASSERT_TRUE(fit.valid()) << fit.problem;
  EXPECT_EQ(fit.budgets, 7);
  EXPECT_EQ(fit.envelope.size(), 6u);
  for (const EnvelopePoint& point : fit.envelope) EXPECT_NE(point.c, 1.6e19);
}

// The middle one of three sizes wins everywhere, so the sizes grow as they were chosen to.
TEST(Envelope, IntervalsKnowHowFarApartTheSizesAre) {
  std::vector<std::pair<double, double>> runs;
  const double middle = 1e18 * std::pow(2, 9.5);
  for (int budget = 0; budget < 20; ++budget)
    for (int size = -1; size <= 1; ++size) {
      const double c = 1e18 * std::pow(2, budget),
                   n = SlowLaw().best_n(middle) * std::sqrt(c / middle) * std::pow(6, size);
      runs.emplace_back(n, c / 6 / n);
    }
  const auto fit = fit_envelope(table_of(runs), {}, {.resamples = 300});
  ASSERT_TRUE(fit.valid()) << fit.problem;
  EXPECT_NEAR(fit.n_of_c.law.exponent, 0.5, 1e-9);
  EXPECT_LT(fit.n_of_c.exponent.low, 0.45);
  EXPECT_GT(fit.n_of_c.exponent.high, 0.5);
  EXPECT_LT(fit.n_of_c.exponent.high - fit.n_of_c.exponent.low, 0.6);
  EXPECT_TRUE(knows_exponent(fit));
}

// All curves end at one ratio of tokens to parameters: at what a large one spends the small ones
// have ended.
TEST(Envelope, ACurveAtTheEdgeOfThoseThatReachABudgetBoundsNothing) {
  auto table = test::curves_table(12, 1.5);
  for (ScalingRun& run : table.runs) {
    run.tokens = 2 * run.n_params;
    run.curve.clear();
    for (int k = 1; k <= 40; ++k)
      run.curve.push_back({run.tokens * k / 40, TrueLaw().loss(run.n_params, run.tokens * k / 40)});
    run.loss = run.curve.back().loss;
    run.flops = 6 * run.n_params * run.tokens;
  }
  const auto fit = fit_envelope(table, {}, {.resamples = 0});
  EXPECT_TRUE(fit.from_curves);
  EXPECT_FALSE(fit.valid());
  EXPECT_NE(fit.problem.find("fewer than 3 models"), std::string::npos) << fit.problem;
}

TEST(Efficient, SizesOfOtherFlopsPerTokenAreLeast) {
  const ChinchillaLaw law{1.8, 480, 2100, 0.35, 0.37};
  EXPECT_NEAR(efficient(law, 1e21, {6, 1}).n / optimum(law, 1e21).n, 1, 1e-12);
  const PowerLaw per_token{40, 0.9};
  const Optimum best = efficient(law, 1e21, per_token);
  EXPECT_NEAR(best.d * per_token.at(best.n) / 1e21, 1, 1e-9);
  for (const double factor : {0.9, 1.1}) {
    const double n = best.n * factor;
    EXPECT_GT(law.loss(n, 1e21 / per_token.at(n)), best.loss);
  }
  const double slope = std::log(efficient(law, 1e22, per_token).n / best.n) / std::log(10.0);
  EXPECT_NEAR(efficient_exponent(law, per_token), slope, 1e-9);
}

}  // namespace
}  // namespace skein::scaling::fit
