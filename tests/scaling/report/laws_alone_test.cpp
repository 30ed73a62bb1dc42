// What a study says where not all can be fitted: one law alone, tables that no approach can be
// fitted to, runs far off, points of curves.
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

#include "skein/core/json.h"
#include "skein/scaling/report/report.h"
#include "skein/scaling/study/study.h"

#include "data/data_fixtures.h"
#include "scaling/report_checks.h"
#include "scaling/table_fixture.h"

namespace skein::scaling::report {
namespace {

using Json = nlohmann::json;
using namespace plot;
using test::expect_error;
using test::holds;
using test::named;
using test::Scratch;
using test::TrueLaw;

study::StudyOptions quick(study::Law law = study::Law::all) {
  study::StudyOptions options;
  options.law = law;
  options.parametric.resamples = 0;
  options.parametric.threads = 1;
  return options;
}

ScalingTable table_of(const std::vector<std::pair<double, double>>& sizes_and_tokens) {
  ScalingTable table;
  table.path = "runs.csv";
  for (const auto& [n, d] : sizes_and_tokens) {
    ScalingRun run;
    run.line = static_cast<int64_t>(table.runs.size()) + 2;
    run.name = "run" + std::to_string(run.line);
    run.n_params = n;
    run.tokens = d;
    run.flops = 6 * n * d;
    run.loss = TrueLaw().loss(n, d);
    table.runs.push_back(run);
  }
  return table;
}

ScalingTable one_size() {
  std::vector<std::pair<double, double>> runs;
  for (int i = 0; i < 8; ++i) runs.emplace_back(1e8, 1e9 * std::pow(2, i));
  return table_of(runs);
}

ScalingTable one_ratio() {
  std::vector<std::pair<double, double>> runs;
  for (int i = 0; i < 8; ++i) runs.emplace_back(1e7 * std::pow(1.6, i), 2e8 * std::pow(1.6, i));
  return table_of(runs);
}

std::string lines_of(const std::vector<std::string>& sentences) {
  std::string made;
  for (const std::string& one : sentences) made += one + "\n";
  return made;
}

TEST(LawAlone, OfTokensNeedsNoSecondSize) {
  expect_error(ExitCode::usage, {"none of the three approaches", "fit.law=loss_of_n, loss_of_d"},
               [] { make_study(one_size(), quick()); });
  const study::Study study = make_study(one_size(), quick(study::Law::loss_of_d));
  ASSERT_TRUE(study.loss_of_d.offset);
  EXPECT_NEAR(study.loss_of_d.offset->law.p, TrueLaw().beta, 1e-3);
  EXPECT_FALSE(study.loss_of_n.offset || study.loss_of_c.offset || study.target);
  const std::string text = study_text(study);
  EXPECT_TRUE(holds(text, "L(D) of runs within a factor of 2 of the largest N")) << text;
  EXPECT_FALSE(holds(text, "pproach")) << text;
  EXPECT_TRUE(holds(lines_of(conclusions(study)), "L(D) = E + k D^-p"))
      << lines_of(conclusions(study));
  const Json json = Json::parse(study_json(study));
  EXPECT_EQ(json["options"]["law"], "loss_of_d");
  EXPECT_TRUE(json["loss_of_d"]["p"]["value"].is_number());
  EXPECT_EQ(json["loss_of_n_problem"], "not asked for (fit.law)");
}

TEST(LawAlone, IsRefusedByItsOwnNeeds) {
  expect_error(ExitCode::usage,
               {"fit.law=loss_of_n cannot be fitted",
                "it needs at least 5 different N of runs within a factor of 2 of the largest D",
                "there are 1"},
               [] { make_study(one_size(), quick(study::Law::loss_of_n)); });
  expect_error(ExitCode::usage,
               {"fit.law=loss_of_d cannot be fitted", "at least 5 different D", "there are 2"},
               [] { make_study(one_ratio(), quick(study::Law::loss_of_d)); });
  ScalingTable few = one_ratio();
  few.runs.resize(4);
  expect_error(
      ExitCode::usage,
      {"fit.law=loss_of_c cannot be fitted", "at least 5 different budgets", "there are 4"},
      [&] { make_study(few, quick(study::Law::loss_of_c)); });
  expect_error(ExitCode::usage, {"fit.law=data_limited cannot be fitted", "unique_tokens"},
               [] { make_study(one_ratio(), quick(study::Law::data_limited)); });
  expect_error(ExitCode::usage, {"fit.law=kaplan cannot be fitted", "one size only", "N = 1e+08"},
               [] { make_study(one_size(), quick(study::Law::kaplan)); });
  expect_error(ExitCode::usage, {"fit.law=kaplan cannot be fitted", "D is a power of N"},
               [] { make_study(one_ratio(), quick(study::Law::kaplan)); });
  expect_error(ExitCode::usage, {"fit.law=over_training cannot be fitted", "one ratio only"},
               [] { make_study(one_ratio(), quick(study::Law::over_training)); });
  study::StudyOptions both = quick(study::Law::loss_of_c);
  both.approach = study::Approach::isoflop;
  expect_error(ExitCode::usage, {"fit.law=loss_of_c", "fit.approach", "one of the two"},
               [&] { make_study(one_ratio(), both); });
}

TEST(LawAlone, OfComputeFollowsTheLowestLossHoweverTheRunsDivideIt) {
  // One ratio: no approach says anything of N*, and L(C) is the law along it.
  expect_error(ExitCode::usage,
               {"approach 1: by last losses, 0 of 8 budgets", "approach 3: one ratio only"},
               [] { make_study(one_ratio(), quick()); });
  const study::Study study = make_study(one_ratio(), quick(study::Law::loss_of_c));
  ASSERT_TRUE(study.loss_of_c.power && study.loss_of_c.offset);
  EXPECT_NEAR(study.loss_of_c.offset->law.at(6 * 1e8 * 2e9), TrueLaw().loss(1e8, 2e9), 0.01);
  EXPECT_TRUE(holds(study_text(study), "L(C) holds for how these runs divide C between N and D"));
  EXPECT_FALSE(holds(lines_of(conclusions(study)), "grows as compute"));
}

TEST(LawAlone, OfBothGoesWithoutApproachThree) {
  std::vector<std::pair<double, double>> runs;
  for (int i = 0; i < 24; ++i)
    runs.emplace_back(1e7 * std::pow(2, i % 6), 1e9 * std::pow(3, i / 6));
  for (const study::Law law : {study::Law::kaplan, study::Law::over_training}) {
    const study::Study study = make_study(table_of(runs), quick(law));
    EXPECT_FALSE(study.main.parametric);
    EXPECT_EQ(study.kaplan.fit.has_value(), law == study::Law::kaplan);
    EXPECT_EQ(study.over_training.fit.has_value(), law == study::Law::over_training);
    EXPECT_FALSE(conclusions(study).empty());
    EXPECT_FALSE(holds(lines_of(study.warnings), "is not fitted")) << lines_of(study.warnings);
  }
}

// One size: a M^h C^-h is a constant beside E.
TEST(LawAlone, ThatHasNotConvergedIsNoAnswer) {
  study::StudyOptions options = quick(study::Law::over_training);
  ScalingTable table = one_size();
  for (ScalingRun& run : table.runs)
    run.loss *= 1 + 0.003 * std::sin(5 * static_cast<double>(run.line));
  expect_error(ExitCode::usage,
               {"fit.law=over_training cannot be fitted", "it has not converged: "},
               [&] { make_study(table, options); });
  options.must_fit = false;
  const study::Study study = make_study(table, options);
  ASSERT_TRUE(study.over_training.fit);
  EXPECT_TRUE(holds(study.problem, "it has not converged: ")) << study.problem;
  const std::string warnings = lines_of(study.warnings), said = lines_of(conclusions(study));
  EXPECT_TRUE(holds(warnings, "the over-training law has not converged: ")) << warnings;
  EXPECT_TRUE(holds(warnings, "; do not use its numbers")) << warnings;
  EXPECT_TRUE(holds(said, " (not converged: ")) << said;
}

TEST(Unfitted, TablesAreDrawnAndSayWhy) {
  study::StudyOptions options = quick();
  options.must_fit = false;
  ScalingTable table = one_ratio();
  table.runs.resize(3);
  for (ScalingRun& run : table.runs)
    run.curve = {{run.tokens / 2, run.loss + 0.2}, {run.tokens, run.loss}};
  const study::Study study = make_study(table, options);
  EXPECT_TRUE(holds(study.problem, "none of the three approaches")) << study.problem;
  EXPECT_FALSE(study.target);
  const std::string said = lines_of(conclusions(study));
  for (const char* part : {"Nothing is fitted. runs.csv: none of the three approaches",
                           "approach 1: ", "approach 2: ", "approach 3: too few points"})
    EXPECT_TRUE(holds(said, part)) << said;
  EXPECT_FALSE(holds(said, "The target is") || holds(said, "grows as compute")) << said;
  const auto figures = figures_of(study);
  EXPECT_TRUE(named(figures, "loss").problem.empty());
  EXPECT_TRUE(holds(named(figures, "contour").problem, "too few points"));
  const Scratch scratch;
  const plot::ReportFiles made = write_report(study, scratch.file("out"));
  EXPECT_TRUE(std::filesystem::exists(scratch.file("out/loss.png")));
  const auto report = test::json_in(test::bytes_of_file(made.page));
  EXPECT_EQ(report["study"]["table"]["path"], "runs.csv");
  EXPECT_EQ(report["study"]["table"]["runs"], 3);
  EXPECT_EQ(report["fitted"], 0);
  EXPECT_TRUE(holds(report["conclusions"][0], "Nothing is fitted. "));
  for (ScalingRun& run : table.runs) run.status = "failed";
  expect_error(ExitCode::usage, {"none of 3 runs is done"}, [&] { make_study(table, options); });
}

TEST(Outliers, AreNamedWithWhatWasFoundAndPredicted) {
  ScalingTable table = test::isoflop_table(TrueLaw(), 5, 7, 1.5, 0.002);
  table.runs[12].loss *= 1.5;
  table.runs[20].loss *= 1.15;
  const study::Study study = make_study(table, quick());
  ASSERT_EQ(study.outliers.size(), 1u);
  EXPECT_EQ(study.outliers[0].run, 12);
  EXPECT_EQ(study.outliers[0].found, table.runs[12].loss);
  EXPECT_NEAR(study.outliers[0].found / study.outliers[0].predicted, 1.5, 0.05);
  const std::string wanted = fmt::format(
      "1 of 35 runs are 20% or more off the fitted law: run14 (line 14) found {:.4g}, predicted",
      table.runs[12].loss);
  EXPECT_TRUE(holds(study_text(study), wanted)) << study_text(study);
  const Json json = Json::parse(study_json(study))["outliers"];
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["run"], "run14");
  EXPECT_EQ(json[0]["line"], 14);
  EXPECT_EQ(json[0]["found"], table.runs[12].loss);
  table.runs[12].loss /= 1.5;
  EXPECT_TRUE(make_study(table, quick()).outliers.empty());
}

TEST(Outliers, OfALawAloneAreAmongTheRunsItIsFittedTo) {
  ScalingTable table = one_size();
  table.runs[4].loss *= 1.5;
  ScalingRun worse = table.runs[5];  // the same tokens: the law is fitted to the better one
  worse.name = "worse";
  worse.line = 10;
  worse.loss *= 2;
  table.runs.push_back(worse);
  const study::Study study = make_study(table, quick(study::Law::loss_of_d));
  ASSERT_EQ(study.outliers.size(), 1u) << study_text(study);
  EXPECT_EQ(study.outliers[0].run, 4);
  EXPECT_EQ(study.outliers[0].found, table.runs[4].loss);
  EXPECT_NEAR(study.outliers[0].found / study.outliers[0].predicted, 1.4,
              0.05);  // the law leans to it
}

TEST(PointsOfCurves, AreFittedBesideTheEndsOfRuns) {
  // All runs end at one number of tokens: their ends alone say nothing of D.
  const ScalingTable table = test::curves_table(8, 2);
  study::StudyOptions options = quick();
  options.all_conventions = false;
  EXPECT_TRUE(holds(make_study(table, options).main.parametric_problem, "one D only"));
  options.curve_points = 6;
  const study::Study study = make_study(table, options);
  EXPECT_EQ(study.main.points.size(), 8u);
  EXPECT_EQ(study.main.curve_points.size(), 48u);
  ASSERT_TRUE(study.main.parametric) << study.main.parametric_problem;
  EXPECT_NEAR(study.main.parametric->law.alpha, TrueLaw().alpha, 1e-4);
  EXPECT_NEAR(study.main.parametric->law.beta, TrueLaw().beta, 1e-4);
  EXPECT_TRUE(holds(study_text(study), "Fitted to 48 points of learning curves as well"));
  EXPECT_TRUE(holds(lines_of(study.warnings), "points of learning curves"));
  for (const ScalingPoint& point : study.main.curve_points) {
    EXPECT_LT(point.d, 3e10);
    EXPECT_NEAR(point.c / (6 * point.n * point.d), 1, 1e-9);
    EXPECT_EQ(study.main.points[static_cast<size_t>(point.cluster)].run, point.run);
  }
}

TEST(PointsOfCurves, NeedCurvesAndAreResampledWithTheirRuns) {
  study::StudyOptions options = quick();
  options.curve_points = 3;
  expect_error(ExitCode::usage, {"fit.curves=3", "data.curves"},
               [&] { make_study(test::isoflop_table(TrueLaw(), 5, 7, 1.5), options); });
  options.curve_points = -1;
  expect_error(ExitCode::usage, {"fit.curves=-1"}, [&] { make_study(one_ratio(), options); });
  // Five runs are too few to draw from, whatever the number of points.
  options.curve_points = 20;
  options.parametric.resamples = 10;
  options.must_fit = false;
  EXPECT_TRUE(holds(make_study(test::curves_table(5, 2), options).main.parametric_problem,
                    "too few runs: intervals"));
}

}  // namespace
}  // namespace skein::scaling::report
