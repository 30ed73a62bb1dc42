// What the approaches say of a budget beyond the data.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "skein/scaling/study/study.h"

#include "scaling/table_fixture.h"

namespace skein::scaling::study {
namespace {

using test::isoflop_table;

constexpr double kTarget = 1e22;

// The loss is a parabola over ln n at every budget: what approach 2 takes for granted.
struct ParabolicLaw {
  double best_n(double c) const { return 0.1 * std::sqrt(c); }
  double best_loss(double c) const { return 2 + 500 * std::pow(c, -0.15); }
  double loss(double n, double d) const {
    const double c = 6 * n * d, off = std::log(n / best_n(c));
    return best_loss(c) + 0.03 * off * off;
  }
};

Study study_of(const ScalingTable& table, Approach approach, int64_t resamples,
               uint64_t seed = 42) {
  StudyOptions options;
  options.approach = approach;
  options.all_conventions = false;
  options.parametric.resamples = resamples;
  options.parametric.seed = seed;
  options.parametric.threads = 1;
  options.target = kTarget;
  return make_study(table, options);
}

// Of 0 ... 100, between order statistics.
double percentile(std::vector<double> values, double which) {
  std::sort(values.begin(), values.end());
  const double position = which / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(position);
  return values[below] + (position - static_cast<double>(below)) *
                             (values[std::min(below + 1, values.size() - 1)] - values[below]);
}

void expect_percentiles(const fit::Interval& interval, const std::vector<double>& values) {
  EXPECT_NEAR(interval.low / percentile(values, 2.5), 1, 1e-12);
  EXPECT_NEAR(interval.high / percentile(values, 97.5), 1, 1e-12);
  EXPECT_LT(interval.low, interval.high);
}

TEST(Target, ParabolasGiveFourBandsOfOneBootstrap) {
  const Study study =
      study_of(isoflop_table(ParabolicLaw(), 5, 9, 1.5, 0.002), Approach::isoflop, 100);
  const TargetPrediction& target = *study.target;
  const fit::IsoflopFit& fit = study.main.isoflop;
  ASSERT_EQ(fit.n_of_c.draws.size(), 100u);
  ASSERT_EQ(
      fit.offset_loss_of_c.draws.size() + static_cast<size_t>(fit.offset_loss_of_c.failed_draws),
      100u);
  std::vector<double> ratios, losses;
  for (size_t i = 0; i < 100; ++i)
    ratios.push_back(fit.d_of_c.draws[i].at(kTarget) / fit.n_of_c.draws[i].at(kTarget));
  for (const OffsetPowerLaw& draw : fit.offset_loss_of_c.draws) losses.push_back(draw.at(kTarget));
  EXPECT_NEAR(target.isoflop.ratio.value, target.isoflop.d.value / target.isoflop.n.value, 1e-9);
  expect_percentiles(target.isoflop.ratio, ratios);
  EXPECT_EQ(target.isoflop.loss.value, fit.offset_loss_of_c.law.at(kTarget));
  expect_percentiles(target.isoflop.loss, losses);
  EXPECT_TRUE(std::isnan(target.parametric.n.value));
  EXPECT_TRUE(std::isnan(target.envelope.n.value));
}

TEST(Target, ParabolasFindTheLawWithoutNoise) {
  const TargetPrediction target =
      *study_of(isoflop_table(ParabolicLaw(), 5, 9, 1.5), Approach::isoflop, 0).target;
  EXPECT_NEAR(target.isoflop.n.value / 1e10, 1, 1e-6);
  EXPECT_NEAR(target.isoflop.d.value / (1e12 / 6), 1, 1e-6);
  EXPECT_NEAR(target.isoflop.ratio.value, 100.0 / 6, 1e-4);
  EXPECT_NEAR(target.isoflop.loss.value, ParabolicLaw().best_loss(kTarget), 1e-6);
  EXPECT_TRUE(std::isnan(target.isoflop.loss.low));
}

TEST(Target, BandsOfParabolasCoverTheTruth) {
  int n = 0, ratio = 0, loss = 0;
  constexpr int kSets = 48;
  for (int set = 0; set < kSets; ++set) {
    auto table = isoflop_table(ParabolicLaw(), 6, 14, 1.3);
    for (size_t i = 0; i < table.runs.size(); ++i)
      table.runs[i].loss *= std::exp(0.003 * normal_at(900 + static_cast<uint64_t>(set), 0, i));
    const TargetPrediction target =
        *study_of(table, Approach::isoflop, 200, static_cast<uint64_t>(set)).target;
    const auto inside = [](const fit::Interval& interval, double truth) {
      return interval.low <= truth && truth <= interval.high;
    };
    n += inside(target.isoflop.n, 1e10);
    ratio += inside(target.isoflop.ratio, 100.0 / 6);
    loss += inside(target.isoflop.loss, ParabolicLaw().best_loss(kTarget));
  }
  // 45.6 are expected; a binomial of 48 at 95% falls below 41 in 1 case of a hundred.
  for (const int covered : {n, ratio, loss}) EXPECT_GE(covered, 41);
}

TEST(Target, TheEnvelopeGivesFourBands) {
  const Study study = study_of(test::curves_table(14, 1.4), Approach::envelope, 60);
  const TargetPrediction& target = *study.target;
  const fit::EnvelopeFit& fit = study.main.envelope;
  EXPECT_EQ(target.envelope.n.value, fit.n_of_c.law.at(kTarget));
  EXPECT_NEAR(target.envelope.ratio.value, target.envelope.d.value / target.envelope.n.value, 1e-9);
  std::vector<double> ratios;
  for (size_t i = 0; i < fit.n_of_c.draws.size(); ++i)
    ratios.push_back(fit.d_of_c.draws[i].at(kTarget) / fit.n_of_c.draws[i].at(kTarget));
  expect_percentiles(target.envelope.ratio, ratios);
  ASSERT_TRUE(fit.offset_loss_of_c.convergence.converged)
      << fit.offset_loss_of_c.convergence.problem;
  // The law's own optimum there.
  const Optimum best = optimum({1.8, 480, 2100, 0.35, 0.37}, kTarget);
  EXPECT_NEAR(target.envelope.loss.value, best.loss, 0.01);
  EXPECT_LE(target.envelope.loss.low, target.envelope.loss.value);
  EXPECT_GE(target.envelope.loss.high, target.envelope.loss.value);
  EXPECT_NEAR(target.envelope.n.value / best.n, 1, 0.15);
}

TEST(Target, IsPrintedForAllThreeApproaches) {
  const ScalingTable table = isoflop_table(test::TrueLaw(), 6, 9, 1.4, 0.002);
  const std::string text = study_text(study_of(table, Approach::all, 20));
  const size_t heads = text.find("       approach 1  "), at = text.find("  D*/N*  ", heads);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_LT(text.find("approach 2", heads), text.find("approach 3", heads));
  EXPECT_EQ(text.substr(at, text.find('\n', at) - at).find(" - "), std::string::npos) << text;
  const std::string json = study_json(study_of(table, Approach::all, 20));
  for (const char* key : {"\"isoflop_ratio\"", "\"envelope_n\"", "\"envelope_d\"",
                          "\"envelope_ratio\"", "\"envelope_loss\""})
    EXPECT_NE(json.find(key), std::string::npos) << key;
}

}  // namespace
}  // namespace skein::scaling::study
