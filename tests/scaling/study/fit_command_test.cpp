// `skein fit` and the library it is made of say the same of the same file.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "skein/core/json.h"
#include "skein/scaling/study/study.h"

#include "scaling/table_fixture.h"

namespace skein::scaling::study {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::TableFile;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// All programs of a build lie in one folder.
std::string program() {
  return (fs::read_symlink("/proc/self/exe").parent_path() / "skein").string();
}

void expect_same(const std::string& table, const std::string& flags, const StudyInput& input,
                 const StudyOptions& options) {
  const TableFile scratch("");
  const std::string json = scratch.folder() + "/fit.json", printed = scratch.folder() + "/out";
  ASSERT_EQ(std::system(fmt::format("{} fit {} {} --output.path={} >{} 2>{}.log", program(), table,
                                    flags, json, printed, printed)
                            .c_str()),
            0)
      << text_of(printed + ".log");
  const Study study = make_study(read_input(input), options);
  const Json by_command = Json::parse(text_of(json)), by_library = Json::parse(study_json(study));
  EXPECT_EQ(by_command, by_library) << Json::diff(by_command, by_library).dump(1);
  EXPECT_EQ(text_of(printed), study_text(study));
  EXPECT_EQ(by_command["main"]["parametric"]["alpha"].get<double>(),
            study.main.parametric->law.alpha);
  EXPECT_EQ(by_command["target"]["n"]["high"].get<double>(), study.target->parametric.n.high);
  EXPECT_EQ(by_command["target"]["envelope_ratio"]["low"].get<double>(),
            study.target->envelope.ratio.low);
  EXPECT_EQ(by_command["draws"][3][1].get<double>(), study.main.parametric->draws[3].a);
}

TEST(FitCommand, SaysWhatTheLibrarySaysOfPublicPoints) {
  StudyInput input;
  input.path = "scaling/data/chinchilla_245.csv";
  input.exclusions.highest_losses = 5;
  StudyOptions options;
  options.parametric.resamples = 20;
  options.parametric.seed = 7;
  options.target = 5.88e23;
  options.isoflop.tolerance = 0.12;
  expect_same(input.path,
              "--fit.drop_highest_losses=5 --fit.resamples=20 --fit.seed=7 --fit.target=5.88e23 "
              "--fit.budget_tolerance=0.12",
              input, options);
}

// Everything that a table may say: counts, settings, repeated data, curves, runs that failed.
TEST(FitCommand, SaysWhatTheLibrarySaysOfASweep) {
  const test::TrueLaw law;
  std::string rows =
                  "run,status,n_blocks,n_head,n_all,tokens,unique_tokens,flops_exact,lr,global_"
                  "batch,loss\n",
              curves = "run,tokens,loss\n";
  for (int i = 0; i < 48; ++i) {
    const double n = 1e6 * std::pow(1.7, i % 8), d = 2e8 * std::pow(2.2, i / 8),
                 unique = i % 5 == 0 ? d / 8 : d;
    const double loss = law.loss(n, d) * (1 + 0.004 * test::uniform(5, static_cast<uint64_t>(i))) *
                        (unique < d ? 1.02 : 1);
    rows += fmt::format("r{},{},{},{},{},{},{},{},1e-3,{},{}\n", i, i == 40 ? "diverged" : "done",
                        0.9 * n, 0.02 * n, n, d, unique, 6.3 * n * d, i % 2 ? 4096 : 8192, loss);
    for (int k = 1; k <= 6; ++k)
      curves += fmt::format("r{},{},{}\n", i, d * k / 6, k == 6 ? loss : law.loss(n, d * k / 6));
  }
  const TableFile table(rows), points(curves);
  StudyInput input;
  input.path = table.path();
  input.curves = points.path();
  StudyOptions options;
  options.parametric.resamples = 12;
  options.parametric.kind = fit::LossKind::squared;
  options.convention = {ParameterCount::all, FlopCount::exact};
  expect_same(input.path,
              "--fit.resamples=12 --fit.loss=squared --fit.parameters=all --fit.flops=exact "
              "--data.curves=" +
                  input.curves,
              input, options);
}

}  // namespace
}  // namespace skein::scaling::study
