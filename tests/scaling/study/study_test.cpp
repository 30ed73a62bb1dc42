#include "skein/scaling/study/study.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "skein/core/json.h"
#include "skein/scaling/laws/results_store.h"

#include "scaling/table_fixture.h"
#include "support/expect_error.h"

namespace skein::scaling::study {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::isoflop_table;
using test::TableFile;
using test::TrueLaw;

StudyOptions quick(int64_t resamples = 0) {
  StudyOptions options;
  options.parametric.resamples = resamples;
  options.parametric.threads = 1;
  return options;
}

StudyInput chinchilla_points() {
  StudyInput input;
  input.path = "scaling/data/chinchilla_245.csv";
  input.exclusions.highest_losses = 5;
  return input;
}

const Study& chinchilla_study() {
  static const Study kStudy = make_study(read_input(chinchilla_points()), quick());
  return kStudy;
}

TEST(Study, LandsOnTheConvergedMinimumOfThePublicPoints) {
  const Study& study = chinchilla_study();
  ASSERT_TRUE(study.main.parametric);
  const fit::ParametricFit& fit = *study.main.parametric;
  EXPECT_TRUE(fit.convergence.converged) << fit.convergence.problem;
  EXPECT_NEAR(fit.law.a, 477.826, 0.02);
  EXPECT_NEAR(fit.law.b, 2143.42, 0.2);
  EXPECT_NEAR(fit.law.e, 1.817218, 2e-6);
  EXPECT_NEAR(fit.law.alpha, 0.347311, 2e-6);
  EXPECT_NEAR(fit.law.beta, 0.367172, 2e-6);
  EXPECT_NEAR(study.main.n_exponent.value, 0.51390, 1e-5);
  EXPECT_NEAR(study.main.n_exponent.value + study.main.d_exponent.value, 1, 1e-12);
  EXPECT_NEAR(fit.objective, 1.0182740178e-3, 1e-12);
}

TEST(Study, PutsTheExcludedRunsBackBeside) {
  const Study& study = chinchilla_study();
  EXPECT_EQ(study.main.points.size(), 240u);
  ASSERT_TRUE(study.with_excluded);
  EXPECT_EQ(study.with_excluded->points.size(), 245u);
  EXPECT_NEAR(study.with_excluded->n_exponent.value, 0.56464, 1e-5);
}

TEST(Study, PredictsAtTheTargetAndSaysHowFarItIs) {
  StudyOptions options = quick();
  options.target = 5.88e23;
  options.all_conventions = false;
  const Study study = make_study(read_input(chinchilla_points()), options);
  EXPECT_NEAR(study.target->parametric.n.value / 7.397e10, 1, 1e-3);
  EXPECT_NEAR(study.target->parametric.d.value / 1.3249e12, 1, 1e-3);
  EXPECT_NEAR(study.target->parametric.ratio.value, 17.9, 0.05);
  EXPECT_NEAR(study.target->parametric.loss.value, 1.97334, 1e-5);
  EXPECT_NEAR(study.target->beyond, 5.88e23 / study.main.points.back().c, 1e-9);
  EXPECT_NE(fmt::format("{}", fmt::join(study.warnings, "|")).find("times the largest budget"),
            std::string::npos);
}

TEST(Study, DoesNotDependOnTheOrderOfRowsNorOnThreads) {
  ScalingTable table = isoflop_table(TrueLaw(), 5, 7, 1.5, 0.003);
  StudyOptions options = quick(40);
  const Study one = make_study(table, options);
  std::reverse(table.runs.begin(), table.runs.end());
  options.parametric.threads = 2;
  const Study other = make_study(table, options);
  EXPECT_EQ(study_json(one), study_json(other));
}

TEST(Study, FitsEveryWayOfCounting) {
  ScalingTable table = isoflop_table(TrueLaw(), 5, 7, 1.5, 0.003);
  for (ScalingRun& run : table.runs) {
    run.n_all = run.n_params;
    run.n_head = 1e6;
    run.n_blocks = run.n_all - 3e6;
    run.flops_exact = 7 * std::pow(run.n_all, 0.99) * run.tokens;
    run.n_params = run.flops = kUnknown;
  }
  const Study study = make_study(table, quick());
  EXPECT_EQ(name(study.main.convention), "all parameters, exact FLOPs");
  EXPECT_NEAR(study.main.flops_per_token.exponent, 0.99, 1e-6);
  EXPECT_EQ(study.others.size(), 7u);
  for (const ConventionStudy& other : study.others)
    EXPECT_TRUE(other.parametric) << name(other.convention) << other.parametric_problem;
  const std::string text = study_text(study);
  EXPECT_NE(text.find("blocks + head, exact FLOPs"), std::string::npos) << text;
}

TEST(Study, NamesNoOptimumWhereFlopsDoNotFollowFromSizes) {
  ScalingTable table = isoflop_table(TrueLaw(), 5, 7, 1.5, 0.003);
  for (size_t i = 0; i < table.runs.size(); ++i) {
    table.runs[i].n_blocks = table.runs[i].n_params;
    table.runs[i].flops_exact = table.runs[i].flops * (i % 2 ? 3 : 1);
  }
  StudyOptions options = quick();
  options.convention = {ParameterCount::given, FlopCount::exact};
  options.all_conventions = false;
  const Study study = make_study(table, options);
  ASSERT_TRUE(study.main.parametric);
  EXPECT_TRUE(std::isnan(study.main.n_exponent.value));
  EXPECT_TRUE(std::isnan(study.target->parametric.n.value));
  EXPECT_NE(fmt::format("{}", fmt::join(study.warnings, "|")).find("no power of N"),
            std::string::npos);
}

TEST(Study, LossesThatRiseWithTheSizeHaveNoBestOne) {
  struct Rising : TrueLaw {
    double loss(double n, double d) const {
      return 1.8 + 1e-3 * std::pow(n, 0.25) + b * std::pow(d, -beta);
    }
  };
  const Study study = make_study(isoflop_table(Rising(), 5, 7, 1.5, 1e-3), quick(20));
  ASSERT_TRUE(study.main.parametric);
  EXPECT_FALSE(names_optimum(study.main));
  EXPECT_TRUE(std::isnan(study.main.n_exponent.value));
  EXPECT_TRUE(!study.target || std::isnan(study.target->parametric.n.value));
  EXPECT_NE(fmt::format("{}", fmt::join(study.warnings, "|")).find("has not converged"),
            std::string::npos);
}

TEST(Study, LossesThatDoNotDependOnTheSizeHaveNoBestOne) {
  struct Indifferent : TrueLaw {
    double loss(double, double d) const { return 1.8 + b * std::pow(d, -beta); }
  };
  const Study study = make_study(isoflop_table(Indifferent(), 5, 7, 1.5, 5e-3), quick(20));
  EXPECT_FALSE(names_optimum(study.main));
  EXPECT_TRUE(std::isnan(study.main.n_exponent.value));
  EXPECT_TRUE(!study.target || std::isnan(study.target->parametric.n.value));
  const std::string warnings = fmt::format("{}", fmt::join(study.warnings, "|"));
  EXPECT_NE(warnings.find("A/N^alpha is not seen in these runs"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("no best size"), std::string::npos) << warnings;
}

TEST(Study, WarnsOfAPowerThatTheSmallestSizesAloneShow) {
  struct Steep : TrueLaw {
    double loss(double n, double d) const {
      return 1.8 + 0.3 * std::pow(n / 2.5e7, -6) + b * std::pow(d, -beta);
    }
  };
  const Study study = make_study(isoflop_table(Steep(), 5, 7, 1.5, 1e-3), quick());
  const std::string warnings = fmt::format("{}", fmt::join(study.warnings, "|"));
  EXPECT_NE(warnings.find("A/N^alpha of approach 3 rests on the smallest runs alone"),
            std::string::npos)
      << warnings;
  EXPECT_EQ(
      fmt::format("{}", fmt::join(chinchilla_study().warnings, "|")).find("smallest runs alone"),
      std::string::npos);
}

TEST(Study, WarnsOfABestSizeThatNoRunIsNear) {
  const auto warnings = [](double off) {
    const Study study = make_study(isoflop_table(TrueLaw(), 5, 7, 1.5, 1e-3, off), quick());
    return fmt::format("{}", fmt::join(study.warnings, "|"));
  };
  EXPECT_NE(warnings(30).find("not seen in the data"), std::string::npos) << warnings(30);
  EXPECT_EQ(warnings(1).find("not seen in the data"), std::string::npos) << warnings(1);
}

TEST(Study, RefusesWhatNoApproachCanFit) {
  ScalingTable table = isoflop_table(TrueLaw(), 1, 4, 1.5);
  expect_error(ExitCode::usage,
               {"none of the three approaches", "approach 1", "approach 2", "approach 3"},
               [&] { make_study(table, quick()); });
  table.runs[3].status = "failed";
  table.runs[3].reason = "out of memory";
  expect_error(ExitCode::usage, {"approach 3", "left out, failed: out of memory: 1 run (run5)"},
               [&] { make_study(table, quick()); });
  StudyOptions options = quick();
  options.target = -1;
  expect_error(ExitCode::usage, {"fit.target=-1"}, [&] { make_study(table, options); });
  options = quick();
  options.parametric.delta = 0;
  expect_error(ExitCode::usage, {"fit.delta=0"}, [&] { make_study(table, options); });
  options = quick();
  options.parametric.threads = -3;
  expect_error(ExitCode::usage, {"fit.threads=-3"}, [&] { make_study(table, options); });
  options = quick(-1);
  expect_error(ExitCode::usage, {"fit.resamples=-1"}, [&] { make_study(table, options); });
}

TEST(Study, SaysWhyNoRunCanBeFitted) {
  ScalingTable table = isoflop_table(TrueLaw(), 4, 5, 1.5);
  for (ScalingRun& run : table.runs) {
    run.status = "failed";
    run.reason = fmt::format("{:.0e} FLOPs are too many", run.flops);
  }
  table.runs[0].status = "unfinished";
  table.runs[0].reason = "";
  expect_error(
      ExitCode::usage,
      {"none of 20 runs is done",
       "left out, failed: 4e+18 FLOPs are too many: 5 runs (run7, run8, run9, run10, run11)",
       "left out, unfinished: 1 run (run2)"},
      [&] { make_study(table, quick()); });
  for (ScalingRun& run : table.runs) run.reason = run.name + " is ill";
  expect_error(ExitCode::usage, {"run10 is ill", "left out for 12 more reasons"},
               [&] { make_study(table, quick()); });
}

TEST(Study, OneSizeAloneIsNoLaw) {
  ScalingTable table;
  for (int i = 0; i < 8; ++i) {
    ScalingRun run;
    run.name = std::to_string(i);
    run.n_params = 1e8;
    run.tokens = 1e9 * std::pow(2.0, i);
    run.flops = 6 * run.n_params * run.tokens;
    run.loss = TrueLaw().loss(run.n_params, run.tokens);
    table.runs.push_back(run);
  }
  expect_error(ExitCode::usage, {"none of the three approaches", "size"},
               [&] { make_study(table, quick()); });
}

TEST(Study, WarnsOfBudgetsWithoutAMinimumAndOfOneSidedGrids) {
  ScalingTable table = isoflop_table(TrueLaw(), 5, 7, 1.5);
  for (ScalingRun& run : table.runs)
    if (run.flops == 4e18) run.loss = 2.5 + 0.1 * std::log(run.n_params / 1e8);
  const Study study = make_study(table, quick());
  const std::string warnings = fmt::format("{}", fmt::join(study.warnings, "|"));
  EXPECT_NE(warnings.find("no minimum that counts at 1 of 5 budgets: 4e+18 FLOPs"),
            std::string::npos)
      << warnings;
  EXPECT_NE(warnings.find("want of curves"), std::string::npos) << warnings;
}

bool has_word(const std::string& json, const std::string& word) {
  return json.find(word) != std::string::npos;
}

TEST(StudyJson, HasNullForWhatIsUnknown) {
  const std::string json = study_json(make_study(isoflop_table(TrueLaw(), 2, 6, 1.5), quick()));
  EXPECT_FALSE(has_word(json, "nan"));
  EXPECT_FALSE(has_word(json, "inf,"));
  const Json read = Json::parse(json);
  EXPECT_TRUE(read["main"]["isoflop"]["n_of_c"]["exponent"]["value"].is_null());
  EXPECT_EQ(read["skein_fit"], 1);
  EXPECT_TRUE(read["main"]["parametric"]["A"].is_number());
}

TEST(StudyJson, IsReadBackAsTheSameLaw) {
  StudyOptions options = quick(20);
  options.all_conventions = false;
  const Study study = make_study(isoflop_table(TrueLaw(), 5, 7, 1.5, 0.002), options);
  const TableFile file(study_json(study));
  const fit::ParametricFit fit = read_fit(file.path());
  EXPECT_EQ(fit.law.a, study.main.parametric->law.a);
  EXPECT_EQ(fit.law.beta, study.main.parametric->law.beta);
  EXPECT_EQ(fit.alpha.low, study.main.parametric->alpha.low);
  EXPECT_EQ(fit.n_exponent.value, study.main.n_exponent.value);
  EXPECT_EQ(fit.convergence.starts, study.main.parametric->convergence.starts);
  ASSERT_EQ(fit.draws.size(), study.main.parametric->draws.size());
  for (size_t i = 0; i < fit.draws.size(); ++i)
    EXPECT_EQ(fit.draws[i].e, study.main.parametric->draws[i].e);
}

TEST(StudyJson, OtherFilesAreNoFits) {
  const auto refuse = [](const std::string& text, std::initializer_list<std::string> words) {
    const TableFile file(text);
    expect_error(ExitCode::usage, words, [&] { read_fit(file.path()); });
  };
  refuse("{}", {"is no fit", "skein fit --output.path"});
  refuse("[1", {"is no fit", "parse error"});
  refuse("{\"skein_fit\": 1}", {"is no fit", "main"});
  refuse(
      "{\"skein_fit\": 1, \"main\": {\"parametric\": null, \"parametric_problem\": \"one size\"}}",
      {"no fit of approach 3", "one size"});
  refuse("{\"skein_fit\": 2}", {"\"skein_fit\": 2", "reads 1"});
  refuse("{\"skein_fit\": \"1\"}", {"\"skein_fit\": \"1\"", "reads 1"});
  expect_error(ExitCode::usage, {"nowhere.json cannot be read: No such file"},
               [] { read_fit("nowhere.json"); });
  expect_error(ExitCode::usage, {"/dev/null is no regular file"}, [] { read_fit("/dev/null"); });
  const TableFile folder("");
  expect_error(ExitCode::usage, {"is a folder", "skein fit --output.path"},
               [&] { read_fit(folder.folder()); });
}

TEST(StudyInputs, StoresOfSweepsAreReadAsTheirTablesAre) {
  const TableFile scratch("");
  ScalingTable table = isoflop_table(TrueLaw(), 2, 3, 1.5);
  for (ScalingRun& run : table.runs) {
    run.n_all = run.n_params;
    run.flops_exact = run.flops;
    run.flops = kUnknown;
    run.curve = {{run.tokens / 2, run.loss + 1}, {run.tokens, run.loss}};
  }
  StudyInput input;
  input.path = scratch.folder() + "/results.h5";
  write_store(input.path, table.runs, std::vector<Settings>(table.runs.size()));
  const ScalingTable again = read_input(input);
  EXPECT_EQ(table_csv(again.runs), table_csv(table.runs));
  EXPECT_EQ(curves_csv(again.runs), curves_csv(table.runs));
  input.curves = "curves.csv";
  expect_error(ExitCode::usage, {"results.h5", "data.curves"}, [&] { read_input(input); });
}

TEST(StudyInputs, FoldersHoldResultsAndCurves) {
  StudyInput input;
  expect_error(ExitCode::usage, {"no table of runs"}, [&] { read_input(input); });
  const TableFile file("run,tokens,loss\na,50,3.5\n");
  input.path = file.folder();
  expect_error(ExitCode::usage, {"without results.csv"}, [&] { read_input(input); });
  std::ofstream(file.folder() + "/results.csv")
      << "run,n_params,tokens,flops,loss\na,10,100,6000,3\n";
  EXPECT_TRUE(read_input(input).runs[0].curve.empty());
  std::ofstream(file.folder() + "/curves.csv") << "run,tokens,loss\na,50,3.5\n";
  EXPECT_EQ(read_input(input).runs[0].curve.size(), 1u);
}

}  // namespace
}  // namespace skein::scaling::study
