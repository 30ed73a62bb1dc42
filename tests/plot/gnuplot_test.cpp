#include "skein/plot/gnuplot.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

#include "data/data_fixtures.h"
#include "scaling/report_checks.h"

namespace skein::plot {
namespace {

using test::bytes_of_file;
using test::count_of;
using test::expect_error;
using test::holds;
using test::Scratch;

Figure small_figure(const std::string& name) {
  Figure figure{"small", "Small", "", "counted: it's 'all'", ""};
  Series series{name, Ink::alert, Mark::dots, 2, {{1, 2, name, true}, {10, 3}, {}, {100, 5}}};
  figure.panels.push_back({"", {"x", true}, {"y"}, {series}});
  return figure;
}

// The figure's files in the folder; the SVG.
std::string drawn(const Figure& figure, const Scratch& scratch) {
  const auto files = write_figure(figure, "plots", scratch.file("plots"));
  EXPECT_EQ(bytes_of_file(files[0]).substr(1, 3), "PNG");
  return bytes_of_file(files[1]);
}

TEST(Gnuplot, DrawsFilesThatStandAlone) {
  const Scratch scratch;
  const std::string svg = drawn(small_figure("a <&> 'b'"), scratch);
  EXPECT_TRUE(holds(svg, "<svg "));
  EXPECT_TRUE(holds(svg, "&lt;&amp;")) << "the run's name";
  EXPECT_TRUE(holds(svg, "#ffffff")) << "a ground for dark viewers";
}

TEST(Gnuplot, RunsNothingThatAFileSays) {
  const Scratch scratch;
  const std::string victim = scratch.file("made");
  for (const std::string& name :
       {"'; system('touch " + victim + "'); '", "`touch " + victim + "`",
        "\nsystem('touch " + victim + "')\n", "EOD\n!touch " + victim + "\n",
        std::string("@x \\n {/Bold y} %d \xff")}) {
    Figure figure = small_figure(name);
    figure.convention = figure.panels[0].x.label = figure.panels[0].title = name;
    EXPECT_NO_THROW(drawn(figure, scratch)) << name;
    EXPECT_FALSE(std::filesystem::exists(victim)) << name;
  }
  for (const char* name : {"it's \"`odd`\" $x @y", "a\ttab, a\nline, \xe9"}) {
    Figure figure = small_figure("x");
    figure.name = name;
    EXPECT_NO_THROW(drawn(figure, scratch)) << name;
  }
}

TEST(Gnuplot, NamesEqualSeriesOnceInTheLegend) {
  Figure figure = small_figure("runs");
  figure.panels[0].series.push_back(figure.panels[0].series[0]);
  figure.panels[0].series.push_back(figure.panels[0].series[0]);
  figure.panels[0].series[2].ink = Ink::isoflop;
  EXPECT_EQ(count_of(gnuplot_script(figure, Canvas::svg, "x"), " title \"runs\" noenhanced"), 2);
}

TEST(Gnuplot, MarksLogarithmicAxesDenselyEnough) {
  Figure figure = small_figure("runs");
  figure.panels[0].y.logarithmic = true;
  figure.panels[0].series[0].samples = {{1, 2.09}, {1e4, 3.4}};
  const std::string script = gnuplot_script(figure, Canvas::png, "x"),
                    ticks = script.substr(script.find("set ytics"));
  EXPECT_GE(count_of(ticks.substr(0, ticks.find('\n')), "\" "), 5)
      << ticks.substr(0, ticks.find('\n'));
}

TEST(Gnuplot, KeepsDigitsThatFollowWhatIsEscaped) {
  const Scratch scratch;
  Figure figure = small_figure("run#70@1");
  figure.name = "a-12.34";
  EXPECT_TRUE(holds(drawn(figure, scratch), ">run#70@1<"));
}

TEST(Gnuplot, CutsLongNames) {
  std::string name;
  for (int i = 0; i < 40; ++i) name += "é";
  const std::string script = gnuplot_script(small_figure(name), Canvas::png, "x");
  EXPECT_TRUE(holds(script, "set label \"" + name.substr(0, 56) + "…\""));
}

TEST(Gnuplot, SaysWhatIsWrong) {
  expect_error(ExitCode::failure, {"gnuplot failed", "nonsense"},
               [] { run_gnuplot("nonsense words\n"); });
  expect_error(ExitCode::failure, {"still drawing", "stopped"},
               [] { run_gnuplot("pause 20\n", 0.2); });
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  expect_error(ExitCode::failure, {"not installed", "gnuplot-nox"},
               [] { run_gnuplot("plot 1\n"); });
  ::setenv("PATH", path.c_str(), 1);
}

TEST(Gnuplot, DrawsPanelsOfOnePointAndOfEqualValues) {
  const Scratch scratch;
  for (const bool logarithmic : {false, true}) {
    Figure figure = small_figure("one");
    figure.panels[0].x.logarithmic = figure.panels[0].y.logarithmic = logarithmic;
    figure.panels[0].series[0].samples = {{5, 5}, {5, 5}};
    EXPECT_NO_THROW(drawn(figure, scratch));
    for (const Sample& one :
         {Sample{3e-300, 1e300}, Sample{1e-200, 1e200}, Sample{}, Sample{INFINITY, -INFINITY}}) {
      figure.panels[0].series[0].samples = {{-1, 0}, one};
      EXPECT_NO_THROW(drawn(figure, scratch)) << one.x;
    }
    figure.panels[0].series.clear();
    EXPECT_NO_THROW(drawn(figure, scratch));
  }
}

}  // namespace
}  // namespace skein::plot
