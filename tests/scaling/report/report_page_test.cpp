// The page of a report: what it holds, escapes and draws.
#include "scaling/report_page.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "skein/scaling/report/report.h"
#include "skein/scaling/report/text.h"

#include "data/data_fixtures.h"
#include "scaling/report_checks.h"
#include "scaling/report_study.h"

namespace skein::scaling::report {
namespace {

using namespace plot;
using test::bytes_of_file;
using test::data_in;
using test::expect_error;
using test::holds;
using test::json_in;
using test::named;
using test::page_of;
using test::report_of;
using test::Scratch;

TEST(Report, LeavesOutWhatNeedsAFitWhereThereIsNone) {
  study::Study study = report_study();
  study.main.parametric.reset();
  study.main.parametric_problem = "all runs have one ratio D/N";
  study.main.isoflop = {};
  study.main.isoflop.problem = "fewer than 3 budgets";
  study.main.envelope = {};
  study.main.envelope.problem = "no curves";
  study.target.reset();
  const auto figures = figures_of(study);
  for (const char* name : {"contour", "residuals", "extrapolation"})
    EXPECT_TRUE(holds(named(figures, name).problem, "all runs have one ratio D/N")) << name;
  EXPECT_TRUE(holds(named(figures, "isoflop").problem, "no parabolas"));
  EXPECT_TRUE(holds(named(figures, "allocation").problem, "No approach names"));
  EXPECT_TRUE(holds(named(figures, "bootstrap").problem, "no resamples"));
  EXPECT_TRUE(named(figures, "loss").problem.empty());
  const std::string page = page_of(study);
  EXPECT_TRUE(holds(page, "No parametric law was fitted: all runs have one ratio D/N."));
  const auto report = json_in(page);
  EXPECT_TRUE(report["study"]["target"].is_null() && report["n_exponent"].is_null());
}

TEST(Report, HoldsWhatFilesSayAsTextAlone) {
  study::Study study = report_study();
  study.table.runs[16].name = "a</script><script>b()<!--";
  study.table.runs[15].name =
      "a\x01"
      "b\xff"
      "c";
  const std::string page = page_of(study);
  EXPECT_FALSE(holds(data_in(page), "<"));
  EXPECT_FALSE(holds(page, "b()<") || holds(page, "<b>\"q") || holds(page, "<nan>"));
  const auto report = json_in(page);
  EXPECT_EQ(report["runs"][17]["name"], kNastyName);
  EXPECT_EQ(report["runs"][16]["name"], study.table.runs[16].name);
  EXPECT_EQ(report["runs"][15]["name"],
            "a\x01"
            "b\xef\xbf\xbd"
            "c");
  EXPECT_EQ(report["study"]["table"]["path"], study.table.path);
  EXPECT_EQ(report["study"]["table"]["left_out"][0]["reason"], "its loss rose to <nan> & stayed");
}

TEST(Report, SaysEachCaveatOnce) {
  study::Study study = report_study();
  study.warnings = {"short: a", "of <few> runs"};
  study.table.warnings = {"of <few> runs", "of the table"};
  EXPECT_EQ(report_of(study)["caveats"],
            nlohmann::json({"short: a", "of <few> runs", "of the table"}));
}

TEST(Report, HoldsTheNumbersOfTheStudy) {
  study::Study study = report_study();
  const auto report = report_of(study);
  auto fit = nlohmann::json::parse(study_json(study));
  fit.erase("draws");
  EXPECT_EQ(report["study"], fit) << nlohmann::json::diff(report["study"], fit);
  EXPECT_EQ(report["n_exponent"]["low"].get<double>(), study.main.parametric->n_exponent.low);
  EXPECT_EQ(report["fitted"], 35);
  ASSERT_EQ(report["runs"].size(), 36);
  const ScalingRun& run = study.table.runs[3];
  EXPECT_EQ(report["runs"][3], nlohmann::json({{"name", run.name},
                                               {"status", "done"},
                                               {"n", run.n_params},
                                               {"d", run.tokens},
                                               {"c", run.flops},
                                               {"loss", run.loss},
                                               {"d_model", 0},
                                               {"n_layers", 0},
                                               {"lr", 1e-3},
                                               {"seed", 0}}));
  EXPECT_TRUE(report["runs"][35]["loss"].is_null());
  study.table.runs.resize(2100, run);
  EXPECT_EQ(report_of(study)["runs"].size(), 2000);
}

TEST(Report, GivesThePageWhatItDraws) {
  const auto figures = figures_of(report_study());
  const auto drawn = report_of(report_study())["figures"];
  ASSERT_EQ(drawn.size(), figures.size());
  for (size_t i = 0; i < figures.size(); ++i) {
    EXPECT_EQ(drawn[i]["name"], figures[i].name);
    EXPECT_EQ(drawn[i]["caption"], figures[i].caption);
    EXPECT_EQ(drawn[i]["problem"], figures[i].problem);
    ASSERT_EQ(drawn[i]["panels"].size(), figures[i].panels.size());
    for (const auto& panel : drawn[i]["panels"])
      for (const char* axis : {"x", "y"}) {
        ASSERT_GE(panel[axis]["ticks"].size(), 2) << figures[i].name << axis;
        EXPECT_LE(panel[axis]["low"], panel[axis]["ticks"].front()[0]);
        EXPECT_GE(panel[axis]["high"], panel[axis]["ticks"].back()[0]);
      }
  }
  const auto& bands = drawn[2]["panels"][0];
  EXPECT_EQ(bands["x"]["ticks"][0][1], "10¹⁷");
  const Series& band = figures[2].panels[0].series[0];
  ASSERT_EQ(bands["series"][0]["mark"], "band");
  EXPECT_NEAR(bands["series"][0]["points"][5][2].get<double>() / band.samples[5].high, 1, 1e-6);
  const auto& outliers = drawn[4]["panels"][0]["series"][2];
  EXPECT_EQ(outliers["ink"], "alert");
  EXPECT_EQ(outliers["points"][0][2], kNastyName);
  // A curve ends where the next one begins.
  EXPECT_TRUE(drawn[0]["panels"][0]["series"][0]["points"].back()[0].is_null());
}

TEST(Report, DrawsNoMorePointsThanCanBeSeen) {
  Series series{"", Ink::text, Mark::dots, 1, std::vector<Sample>(9000)};
  EXPECT_EQ(drawn_samples(series).size(), 3000);
  series.mark = Mark::line;
  EXPECT_EQ(drawn_samples(series).size(), 9000);
}

TEST(Report, LoadsNothingFromElsewhere) {
  const std::string page = page_of(report_study());
  for (const char* part : {"http:", "https:", "src=", "@import", "url(", "<link"})
    EXPECT_FALSE(holds(page, part)) << part;
  EXPECT_TRUE(holds(page, "<meta name=\"viewport\""));
  EXPECT_TRUE(holds(page, "prefers-color-scheme: dark"));
}

TEST(Report, NumbersReadWell) {
  EXPECT_EQ(number_text(0.51390, 3), "0.514");
  EXPECT_EQ(number_text(17.9123, 3), "17.9");
  EXPECT_EQ(number_text(2143.42, 3), "2143");
  EXPECT_EQ(number_text(1.0182740178e-5, 3), "1.02×10⁻⁵");
  EXPECT_EQ(number_text(-0.09, 3), "−0.0900");
  EXPECT_EQ(number_text(0, 3), "0.00");
  EXPECT_EQ(number_text(kUnknown, 3), "unknown");
  EXPECT_EQ(count_text(7.397e10, 3), "74.0\u00a0B");
  EXPECT_EQ(count_text(1.3249e12, 3), "1.32\u00a0T");
  EXPECT_EQ(count_text(1.1399e11, 3), "114\u00a0B");
  EXPECT_EQ(number_text(10, 3), "10.0");
  EXPECT_EQ(count_text(999960, 3), "1.00\u00a0M");
  EXPECT_EQ(count_text(768, 3), "768");
  EXPECT_EQ(power_text(5.88e23, 3), "5.88×10²³");
  EXPECT_EQ(power_text(9.999e22, 3), "1.00×10²³");
  EXPECT_EQ(tick_text(1e17, true, true), "10¹⁷");
  EXPECT_EQ(tick_text(3e9, false, true), "3 B");
  EXPECT_EQ(tick_text(-0.25, false, false), "−0.25");
  EXPECT_EQ(interval_text({0.5, 0.4, 0.6, 0.05}), "0.500 (0.400 to 0.600)");
  EXPECT_EQ(interval_text({0.5}), "0.500");
}

TEST(Report, WritesOnePageAndTheFilesBehindItTheSameEveryTime) {
  const Scratch scratch;
  const study::Study study = report_study();
  const plot::ReportFiles made = write_report(study, scratch.file("a/b"));
  EXPECT_EQ(made.page, scratch.file("a/b/report.html"));
  EXPECT_EQ(made.others.size(), 21);
  for (const std::string& path : made.others)
    EXPECT_GT(std::filesystem::file_size(path), 200) << path;
  ASSERT_EQ(made.left_out.size(), 3);
  EXPECT_TRUE(holds(made.left_out[1], "three learning rates"));
  const std::string page = bytes_of_file(made.page);
  EXPECT_EQ(json_in(page)["figures"].size(), 10);
  write_report(study, scratch.file("again"));
  EXPECT_EQ(page, bytes_of_file(scratch.file("again/report.html")));
  expect_error(ExitCode::usage, {"the folder output.path=", "cannot be made: Not a directory"},
               [&] { write_report(study, scratch.file("a/b/report.html/x")); });
}

}  // namespace
}  // namespace skein::scaling::report
