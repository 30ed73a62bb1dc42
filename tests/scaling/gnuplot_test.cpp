#include "skein/scaling/report/gnuplot.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

#include "data/data_fixtures.h"
#include "report_checks.h"

namespace skein {
namespace {

using test::bytes_of_file;
using test::count_of;
using test::expect_error;
using test::holds;
using test::Scratch;

ScalingFigure small_figure(const std::string& name) {
  ScalingFigure figure{"small", "Small", "", "counted: it's 'all'", "", {}};
  Series series{name,
                Ink::alert,
                Mark::dots,
                2,
                {{1, 2, kUnknown, kUnknown, name, true}, {10, 3}, {}, {100, 5}}};
  figure.panels.push_back({"", {"x", true}, {"y"}, {series}});
  return figure;
}

TEST(Gnuplot, DrawsSvgWhoseColoursAreThePages) {
  const Scratch scratch;
  const FigureSvg svg = draw(small_figure("a <&> 'b'"), scratch.file("small"));
  for (const std::string& one : {svg.wide, svg.narrow}) {
    EXPECT_TRUE(one.starts_with("<svg ") && one.ends_with("</svg>"));
    EXPECT_TRUE(holds(one, "viewBox=\"0 0 "));
    EXPECT_TRUE(holds(one, "var(--ink-alert)"));
    EXPECT_FALSE(holds(one, "rgb("));
    EXPECT_FALSE(holds(one, "black"));
    EXPECT_FALSE(holds(one, "gnuplot_plot"));
    EXPECT_EQ(count_of(one, "<use "), count_of(one, "href='#small-"));
    EXPECT_TRUE(holds(one, "&lt;&amp;")) << "the run's name";
    EXPECT_EQ(count_of(one, "<g"), count_of(one, "</g>"));
  }
  EXPECT_TRUE(holds(svg.wide, "id='small-w-gpPt6'"));
  EXPECT_TRUE(holds(svg.narrow, "id='small-n-gpPt6'"));
  EXPECT_EQ(bytes_of_file(scratch.file("small.png")).substr(1, 3), "PNG");
  const std::string alone = bytes_of_file(scratch.file("small.svg"));
  EXPECT_TRUE(holds(alone, "<svg "));
  EXPECT_FALSE(holds(alone, "var(--"));
  EXPECT_TRUE(holds(alone, "#ffffff")) << "a ground for dark viewers";
}

TEST(Gnuplot, RunsNothingThatAFileSays) {
  const Scratch scratch;
  const std::string victim = scratch.file("made");
  for (const std::string& name :
       {"'; system('touch " + victim + "'); '", "`touch " + victim + "`",
        "\nsystem('touch " + victim + "')\n", "EOD\n!touch " + victim + "\n",
        std::string("@x \\n {/Bold y} %d \xff")}) {
    ScalingFigure figure = small_figure(name);
    figure.convention = figure.panels[0].x.label = figure.panels[0].title = name;
    EXPECT_NO_THROW(draw(figure, scratch.file("small"))) << name;
    EXPECT_FALSE(std::filesystem::exists(victim)) << name;
    EXPECT_NO_THROW(draw(small_figure("x"), scratch.file("it's \"`odd`\" $x @y"))) << name;
    EXPECT_TRUE(std::filesystem::exists(scratch.file("it's \"`odd`\" $x @y.png")));
  }
  EXPECT_NO_THROW(draw(small_figure("x"), scratch.file("a\ttab, a\nline, \xe9")));
  EXPECT_TRUE(std::filesystem::exists(scratch.file("a\ttab, a\nline, \xe9.svg")));
}

TEST(Gnuplot, NamesEqualSeriesOnceInTheLegend) {
  ScalingFigure figure = small_figure("runs");
  figure.panels[0].series.push_back(figure.panels[0].series[0]);
  figure.panels[0].series.push_back(figure.panels[0].series[0]);
  figure.panels[0].series[2].ink = Ink::isoflop;
  EXPECT_EQ(count_of(gnuplot_script(figure, Canvas::svg), " title \"runs\" noenhanced"), 2);
}

TEST(Gnuplot, MarksLogarithmicAxesDenselyEnough) {
  ScalingFigure figure = small_figure("runs");
  figure.panels[0].y.logarithmic = true;
  figure.panels[0].series[0].samples = {{1, 2.09}, {1e4, 3.4}};
  const std::string script = gnuplot_script(figure, Canvas::wide),
                    ticks = script.substr(script.find("set ytics"));
  EXPECT_GE(count_of(ticks.substr(0, ticks.find('\n')), "\" "), 5)
      << ticks.substr(0, ticks.find('\n'));
}

TEST(Gnuplot, KeepsDigitsThatFollowWhatIsEscaped) {
  const Scratch scratch;
  const FigureSvg svg = draw(small_figure("run#70@1"), scratch.file("a-12.34"));
  EXPECT_TRUE(holds(svg.wide, ">run#70@1<"));
  EXPECT_TRUE(std::filesystem::exists(scratch.file("a-12.34.png")));
}

TEST(Gnuplot, CutsLongNames) {
  std::string name;
  for (int i = 0; i < 40; ++i) name += "é";
  const std::string script = gnuplot_script(small_figure(name), Canvas::wide);
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
    ScalingFigure figure = small_figure("one");
    figure.panels[0].x.logarithmic = figure.panels[0].y.logarithmic = logarithmic;
    figure.panels[0].series[0].samples = {{5, 5}, {5, 5}};
    EXPECT_NO_THROW(draw(figure, scratch.file("one")));
    for (const Sample& one :
         {Sample{3e-300, 1e300}, Sample{1e-200, 1e200}, Sample{}, Sample{INFINITY, -INFINITY}}) {
      figure.panels[0].series[0].samples = {{-1, 0}, one};
      EXPECT_NO_THROW(draw(figure, scratch.file("one"))) << one.x;
    }
    figure.panels[0].series.clear();
    EXPECT_NO_THROW(draw(figure, scratch.file("one")));
  }
}

}  // namespace
}  // namespace skein
