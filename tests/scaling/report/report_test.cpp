#include "skein/scaling/report/report.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "skein/scaling/report/text.h"

#include "data/data_fixtures.h"
#include "scaling/report_checks.h"
#include "scaling/report_page.h"
#include "scaling/report_study.h"

namespace skein::scaling::report {
namespace {

using namespace plot;
using test::holds;
using test::json_in;
using test::named;
using test::page_of;
using test::report_of;
using test::titled;

TEST(Report, DrawsWhatTheStudyGivesAndSaysWhyNotTheRest) {
  std::set<std::string> names;
  for (const Figure& figure : figures_of(report_study())) {
    EXPECT_TRUE(names.insert(figure.name).second);
    EXPECT_EQ(figure.convention,
              figure.name == "coordinates" ? "" : "counted: parameters as given, FLOPs as given");
    EXPECT_EQ(figure.panels.empty(), !figure.problem.empty()) << figure.name;
    EXPECT_TRUE(figure.problem.empty() || figure.problem.ends_with('.')) << figure.problem;
    EXPECT_EQ(figure.problem.empty(), figure.name != "single" && figure.name != "learning-rate" &&
                                          figure.name != "coordinates")
        << figure.problem;
    EXPECT_FALSE(figure.problem.empty() && figure.caption.empty()) << figure.name;
  }
  EXPECT_EQ(names.size(), 10);
}

TEST(Report, SpeaksOfNoExponentThatTheLawDoesNotName) {
  study::Study study = report_study();
  study.main.parametric->convergence.converged = false;
  study.main.parametric->convergence.problem = "A/N^alpha is not seen in these runs";
  study.main.n_exponent = study.main.d_exponent = {};
  const std::string page = page_of(study);
  EXPECT_TRUE(holds(page, "is not seen in these runs"));
  EXPECT_TRUE(holds(
      page, "0.500 (0.440 to 0.560) by the frontier and 0.520 (0.480 to 0.560) by parabolas"));
  EXPECT_FALSE(holds(page, "unknown by"));
  for (const Figure& figure : figures_of(study))
    EXPECT_FALSE(holds(figure.caption, "unknown by")) << figure.caption;
}

TEST(Report, SaysOfTheFrontierWhatItGoesBy) {
  study::Study study = report_study();
  study.main.envelope.from_curves = false;
  const std::string page = page_of(study);
  EXPECT_TRUE(holds(
      page,
      "0.500 (0.440 to 0.560) by the frontier of last losses, among the sizes tried alone, 0.520"));
  EXPECT_EQ(json_in(page)["study"]["main"]["envelope"]["from_curves"], false);
  EXPECT_TRUE(holds(named(figures_of(study), "allocation").caption,
                    "by approach 1 (last losses, among the sizes tried alone)"));
  // Of 20 resamples most left no fit: a number without an interval is no conclusion.
  study.main.envelope.resamples = 20;
  study.main.envelope.n_of_c.exponent = {0.5};
  EXPECT_FALSE(holds(page_of(study), "by the frontier"));
  EXPECT_FALSE(holds(named(figures_of(study), "allocation").caption, "approach 1"));
}

TEST(Report, ParabolasAreLowestAtTheirVertices) {
  const auto figures = figures_of(report_study());
  const Panel& panel = named(figures, "isoflop").panels.front();
  int64_t bowls = 0, rings = 0, vertices = 0;
  for (size_t i = 0; i < panel.series.size(); ++i) {
    const Series& series = panel.series[i];
    if (series.mark == Mark::rings) {
      ++rings;
      EXPECT_TRUE(holds(series.title, "minimum beyond the largest size"));
    }
    if (series.mark == Mark::diamonds && !series.samples.empty()) ++vertices;
    if (series.mark != Mark::line || series.samples.empty()) continue;
    ++bowls;
    const auto lowest =
        std::min_element(series.samples.begin(), series.samples.end(),
                         [](const Sample& a, const Sample& b) { return a.y < b.y; });
    EXPECT_NEAR(std::log(lowest->x / panel.series[i + 2].samples.front().x), 0, 0.06);
    EXPECT_NEAR(lowest->y, panel.series[i + 2].samples.front().y, 1e-4);
  }
  EXPECT_EQ(bowls, 4);
  EXPECT_EQ(vertices, 4);
  EXPECT_EQ(rings, 1);
}

TEST(Report, AllocationFollowsTheLawToTheTarget) {
  const study::Study study = report_study();
  const auto figures = figures_of(study);
  const Figure& figure = named(figures, "allocation");
  ASSERT_EQ(figure.panels.size(), 3);
  const Optimum best = fit::efficient(kTruth, study.target->flops, study.main.flops_per_token);
  const double expected[] = {best.n, best.d, best.ratio()};
  for (size_t i = 0; i < 3; ++i) {
    const Sample& last = titled(figure.panels[i], "approach 3: parametric").samples.back();
    EXPECT_NEAR(last.x / study.target->flops, 1, 1e-9);
    EXPECT_NEAR(last.y / expected[i], 1, 1e-9);
    const auto band = std::find_if(
        figure.panels[i].series.begin(), figure.panels[i].series.end(),
        [](const Series& one) { return one.mark == Mark::band && one.ink == Ink::parametric; });
    EXPECT_LT(band->samples.back().low, last.y);
    EXPECT_GT(band->samples.back().high, last.y);
    EXPECT_TRUE(std::any_of(figure.panels[i].series.begin(), figure.panels[i].series.end(),
                            [](const Series& one) { return one.title == "end of the data"; }));
  }
  // The frontier's ratio is the quotient of its laws, and its band that of draws which belong
  // together.
  EXPECT_NEAR(
      titled(figure.panels[2], "approach 1: frontier").samples.back().y,
      study.main.envelope.d_of_c.law.at(2.56e20) / study.main.envelope.n_of_c.law.at(2.56e20),
      1e-9);
}

TEST(Report, ContoursAreOfEqualLossAndThePathIsEfficient) {
  const auto figures = figures_of(report_study());
  const Panel& panel = named(figures, "contour").panels.front();
  int64_t contours = 0;
  for (const Series& series : panel.series) {
    if (series.samples.empty() || !series.samples.front().named) continue;
    ++contours;
    const double loss = kTruth.loss(series.samples.front().x, series.samples.front().y);
    EXPECT_EQ(series.samples.front().name, "L = " + number_text(loss));
    for (const Sample& one : series.samples) EXPECT_NEAR(kTruth.loss(one.x, one.y), loss, 1e-9);
  }
  EXPECT_GE(contours, 6);
  for (const Sample& one : titled(panel, "efficient path").samples) {
    const Optimum best = optimum(kTruth, 6 * one.x * one.y);
    EXPECT_NEAR(one.x / best.n, 1, 1e-9);
  }
}

TEST(Report, NamesTheOutlierAlone) {
  const study::Study study = report_study();
  const auto far = far_residuals(residuals_of(study.main));
  ASSERT_EQ(far.size(), 1);
  EXPECT_EQ(study.main.points[far.front()].run, 17);
  const auto figures = figures_of(study);
  const Figure& figure = named(figures, "residuals");
  ASSERT_EQ(figure.panels.size(), 4);
  EXPECT_EQ(titled(figure.panels[0], "outliers").samples.size(), 1);
  EXPECT_EQ(titled(figure.panels[0], "outliers").samples[0].name, kNastyName);
  EXPECT_EQ(titled(figure.panels[0], "runs").samples.size(), 34);
  EXPECT_TRUE(holds(figure.caption, "1 run lies further")) << figure.caption;
  EXPECT_TRUE(holds(figure.caption, kNastyName)) << figure.caption;
  EXPECT_TRUE(far_residuals({}).empty());
  EXPECT_TRUE(far_residuals({0.5, 0.5, 0.5}).empty());
}

TEST(Report, ShowsBowlsOfLearningRatesAndThoseAtTheEdge) {
  study::Study study = report_study();
  for (int i = 0; i < 6; ++i) {
    ScalingRun run = report_run(i < 3 ? 1e8 : 2e8, i < 3 ? 1e18 : 2e18, 100 + i);
    run.lr = 1e-3 * std::pow(2, i % 3);
    run.loss = i < 3 ? 3 + 0.1 * std::abs(i - 1) : 3.5 - 0.1 * i;
    run.status = "outclassed";
    study.table.runs.push_back(run);
  }
  const auto figures = figures_of(study);
  const Panel& panel = named(figures, "learning-rate").panels.front();
  ASSERT_EQ(titled(panel, "best of a cell").samples.size(), 1);
  EXPECT_DOUBLE_EQ(titled(panel, "best of a cell").samples[0].x, 2e-3);
  ASSERT_EQ(titled(panel, "best at the edge of those tried").samples.size(), 1);
  EXPECT_DOUBLE_EQ(titled(panel, "best at the edge of those tried").samples[0].x, 4e-3);
  EXPECT_TRUE(holds(named(figures, "learning-rate").caption, "2 cells"));
}

TEST(Report, HoldsOutTheLargestBudgetInTheForecast) {
  const auto figures = figures_of(report_study());
  const Panel& panel = named(figures, "extrapolation").panels.front();
  const Series& held = titled(panel, "held-out runs");
  EXPECT_EQ(held.samples.size(), 7);
  for (const Sample& one : held.samples) EXPECT_EQ(one.x, 2.56e19);
  // A law fitted to the rest is near the truth, but not the one that has seen all.
  const Sample& last = titled(panel, "forecast without the held-out runs").samples.back();
  EXPECT_NEAR(last.y, optimum(kTruth, last.x).loss, 0.05);
  EXPECT_NE(last.y, optimum(kTruth, last.x).loss);
}

TEST(Report, DensitiesAreOfOneAndFilledWithin95Percent) {
  const auto figures = figures_of(report_study());
  const Figure& figure = named(figures, "bootstrap");
  ASSERT_EQ(figure.panels.size(), 4);
  for (const Panel& panel : figure.panels) {
    const auto& samples = titled(panel, "bootstrap").samples;
    double sum = 0;
    for (size_t i = 1; i < samples.size(); ++i)
      sum += (samples[i].x - samples[i - 1].x) * (samples[i].y + samples[i - 1].y) / 2;
    EXPECT_NEAR(sum, 1, 0.02) << panel.x.label;
  }
  const Series& area = figure.panels[1].series.front();
  EXPECT_GE(area.samples.front().x, kTruth.e - 0.04);
  EXPECT_LE(area.samples.back().x, kTruth.e + 0.04);
}

TEST(Report, WritesEveryNumberThatItDraws) {
  const study::Study study = report_study();
  const auto figures = figures_of(study);
  const std::string csv = figure_csv(named(figures, "loss"));
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "panel,series,x,y,low,high,run");
  const ScalingPoint& point = study.main.points[17];
  EXPECT_TRUE(
      holds(csv, fmt::format(",{:.17g},{:.17g},,,\"<b>\"\"q'&`@x`\"\n", point.c, point.loss)));
  EXPECT_FALSE(holds(csv, "nan"));
  const std::string bands = figure_csv(named(figures, "allocation"));
  EXPECT_TRUE(holds(bands, "parameters,,1e+17,,"));
}

TEST(Report, SaysItsConclusionsWithTheirUncertainty) {
  const std::vector<std::string> said = conclusions(report_study());
  std::string all;
  for (const std::string& sentence : said) all += sentence + "\n";
  for (const char* part :
       {"For 2.56×10²⁰ FLOPs the parametric law proposes 3.21\u00a0B (2.57\u00a0B to 3.85\u00a0B) "
        "parameters",
        "tokens per parameter, and forecasts a loss of 2.150 (2.130 to 2.170)",
        "The target is 10.0 times the largest budget",
        "0.500 (0.440 to 0.560) by the frontier, 0.520 (0.480 to 0.560) by parabolas and 0.521 "
        "(0.491 to 0.551) by the parametric law",
        "moves that power from 0.521 (parameters as given, FLOPs as given) to 0.713 (blocks, exact "
        "FLOPs)",
        "The fit has converged", "came closest on average: off by +0.31% of the loss"})
    EXPECT_TRUE(holds(all, part)) << part << "\nin\n" << all;
  study::Study doubtful = report_study();
  doubtful.main.parametric->convergence.converged = false;
  doubtful.main.parametric->convergence.problem = "the gradient is 0.3";
  doubtful.target->beyond = 5000;
  all.clear();
  for (const std::string& sentence : conclusions(doubtful)) all += sentence + "\n";
  EXPECT_TRUE(holds(
      all, "has not converged (the gradient is 0.3), so its numbers are not to be relied on"));
  EXPECT_TRUE(holds(all, "far further than such laws have been checked"));
}

TEST(Report, ClaimsNothingOfIntervalsThatAreNotThere) {
  study::Study study = report_study();
  for (fit::Interval* one : {&study.target->parametric.n, &study.target->parametric.d,
                             &study.target->isoflop.n, &study.target->isoflop.d})
    *one = {one->value};
  std::string all;
  for (const std::string& sentence : conclusions(study)) all += sentence + "\n";
  EXPECT_FALSE(holds(all, "overlap") || holds(all, "do not meet")) << all;
  EXPECT_TRUE(report_of(study)["study"]["target"]["n"]["low"].is_null());
}

TEST(Report, NamesNoOptimumWhereTheLawHasNone) {
  study::Study study = report_study();
  study.main.parametric->convergence.converged = false;
  study.main.n_exponent = study.main.d_exponent = {};
  study.main.isoflop = {}, study.main.envelope = {};
  study.main.isoflop.problem = study.main.envelope.problem = "none";
  const auto figures = figures_of(study);
  EXPECT_TRUE(holds(named(figures, "allocation").problem, "names a best size"));
  for (const std::string& sentence : conclusions(study))
    EXPECT_FALSE(holds(sentence, "unknown by")) << sentence;
}

}  // namespace
}  // namespace skein::scaling::report
