#include "skein/scaling/study/coordinate_check.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

#include "skein/plot/gnuplot.h"
#include "skein/scaling/report/report.h"

#include "data/data_fixtures.h"
#include "scaling/report_checks.h"
#include "scaling/report_study.h"

namespace skein::scaling::study {
namespace {

using test::expect_error;
using test::holds;
using test::named;
using test::Scratch;
using test::titled;

CoordinateCheck small_check() {
  CoordinateCheck check{"muP", {64, 128, 256}, 1, {}, {3, 2.9, kUnknown}};
  check.layers.push_back({"embedding", false, {0, 0.1}, {{1, 1, 1}, {1, 1.1, 1.2}}});
  check.layers.push_back({"logits", true, {-0.5, kUnknown}, {{1, 0.7, 0.5}, {1, 2, kUnknown}}});
  return check;
}

TEST(CoordinateCheck, ShowsWhatGrowsWithTheWidth) {
  Study study = report_study();
  study.coordinates = {small_check(), small_check()};
  study.coordinates[1].name = "without muP";
  study.coordinates[1].layers[1].grows = false;
  const auto figures = report::figures_of(study);
  const plot::Figure& figure = named(figures, "coordinates");
  ASSERT_EQ(figure.panels.size(), 4);
  const plot::Series& logits = titled(figure.panels[0], "logits");
  EXPECT_EQ(logits.samples[1].x, 128);
  EXPECT_EQ(logits.samples[1].y, 2);
  EXPECT_TRUE(std::isnan(logits.samples[2].y));
  EXPECT_EQ(figure.panels[1].series.front().samples.back().y, 0.1);
  EXPECT_TRUE(holds(figure.caption, "muP: 1 of 2 layers grow with the width (logits)."))
      << figure.caption;
  EXPECT_TRUE(holds(figure.caption, "without muP: no layer grows with the width."))
      << figure.caption;
  EXPECT_TRUE(holds(figure_csv(figure), "muP: after 1 steps,logits,128,2,,,logits\n"));
  EXPECT_FALSE(holds(figure_csv(figure), "nan"));
  const Scratch scratch;
  for (const std::string& path : write_figure(figure, "plots", scratch.file("plots")))
    EXPECT_GT(std::filesystem::file_size(path), 200) << path;
}

TEST(CoordinateCheck, IsReadFromWhatTheBenchWrote) {
  const std::string good =
      "{\"figures\": [{\"group\": \"gemm\"}, {\"group\": \"coordinates\", \"name\": \"muP\", "
      "\"widths\": [64, 128], \"steps\": 1, \"losses\": [3, null], \"layers\": [{\"name\": "
      "\"logits\", \"grows\": true, \"exponents\": [0, null], \"sizes\": [[1, 2], [3, null]]}]}]}";
  const auto checks = coordinate_checks_of(good, "bench.json");
  ASSERT_EQ(checks.size(), 1);
  EXPECT_EQ(checks[0].widths, (std::vector<int64_t>{64, 128}));
  EXPECT_EQ(checks[0].layers[0].sizes[1][0], 3);
  EXPECT_TRUE(std::isnan(checks[0].layers[0].exponents[1]) && std::isnan(checks[0].losses[1]));
  const auto refuse = [&](const std::string& from, const std::string& to,
                          std::initializer_list<std::string> words) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    expect_error(ExitCode::usage, words, [&] { coordinate_checks_of(text, "bench.json"); });
  };
  refuse("coordinates", "step", {"bench.json has no coordinate check", "--bench.what=coordinates"});
  refuse("[64, 128]", "[64]", {"'muP' is not whole", "1 widths"});
  refuse("[64, 128]", "[128, 64]", {"not whole"});
  refuse("[0, null]", "[0]", {"not whole"});
  refuse("\"steps\": 1", "\"steps\": 9000000000000000000", {"not whole"});
  refuse("[64, 128]", "[64, 7.7e34]", {"bench.json: \"widths\" is 7.7e+34", "whole number"});
  refuse("\"steps\": 1", "\"steps\": 18446744073709551615",
         {"\"steps\" is 18446744073709551615", "to 9223372036854775807"});
  refuse("{\"figures\"", "{\"what\"", {"is no coordinate check", "figures"});
  refuse("true", "tru", {"is no coordinate check", "parse error"});
  expect_error(ExitCode::usage, {"nowhere.json cannot be read", "bench.output"},
               [] { read_coordinate_checks("nowhere.json"); });
}

}  // namespace
}  // namespace skein::scaling::study
