// What the runs of a table were trained with, and what did best among them.
#include "skein/scaling/study/trained_with.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "skein/scaling/study/study.h"

#include "scaling/sweep_fixture.h"
#include "support/expect_error.h"

namespace skein::scaling::study {
namespace {

struct BestLaw {
  double coefficient, n_exponent, d_exponent;
  double at(double n, double d) const {
    return coefficient * std::pow(n, n_exponent) * std::pow(d, d_exponent);
  }
};

struct Pair {
  double n, d;
};

constexpr double kRates[] = {0.005, 0.01, 0.02, 0.04, 0.08, 0.16};
constexpr double kBatches[] = {1e4, 2e4, 4e4, 8e4};

// Every cell at every rate and batch, the loss quadratic in the logarithms of both.
ScalingTable grid(const std::vector<Pair>& cells, const BestLaw& rate, const BestLaw& batch) {
  ScalingTable table;
  for (const auto& [n, d] : cells) {
    for (const double lr : kRates) {
      for (const double tokens : kBatches) {
        ScalingRun run;
        run.name = fmt::format("run{}", table.runs.size());
        run.n_all = n;
        run.tokens = d * (tokens == 1e4 ? 1.01 : 1);  // whole batches
        run.lr = lr;
        run.global_batch = tokens;
        run.loss = 3 + 0.05 * std::pow(std::log(lr / rate.at(n, d)), 2) +
                   0.03 * std::pow(std::log(tokens / batch.at(n, d)), 2);
        run.status = lr == 0.02 ? "done" : "outclassed";
        table.runs.push_back(run);
      }
    }
  }
  return table;
}

std::vector<Pair> square() {
  std::vector<Pair> cells;
  for (const double n : {1e6, 4e6, 1.6e7})
    for (const double d : {1e8, 2e8, 4e8}) cells.push_back({n, d});
  return cells;
}

constexpr Convention kAll{ParameterCount::all, FlopCount::six_n};
constexpr BestLaw kRate{0.5, -0.3, 0.1}, kBatch{60, 0, 0.33};

TEST(RunSettings, FindsTheBestRateAndBatchOverSizeAndTokens) {
  const RunSettings made = trained_with(grid(square(), kRate, kBatch), kAll);
  ASSERT_TRUE(made.best_lr.valid()) << made.best_lr.problem;
  EXPECT_EQ(made.best_lr.cells, 9);
  EXPECT_NEAR(made.best_lr.n_exponent, -0.3, 1e-3);
  EXPECT_NEAR(made.best_lr.d_exponent, 0.1, 1e-3);
  EXPECT_NEAR(made.best_lr.at(1e8, 1e9) / kRate.at(1e8, 1e9), 1, 0.01);
  ASSERT_TRUE(made.best_batch.valid()) << made.best_batch.problem;
  EXPECT_NEAR(made.best_batch.n_exponent, 0, 1e-3);
  EXPECT_NEAR(made.best_batch.at(1e8, 1e9) / kBatch.at(1e8, 1e9), 1, 0.03);
  EXPECT_FALSE(made.lr.known()) << "a table does not say how its runs got their rates";
}

TEST(RunSettings, TheOrderOfRowsChangesNothing) {
  ScalingTable table = grid(square(), kRate, kBatch);
  const RunSettings made = trained_with(table, kAll);
  std::reverse(table.runs.begin(), table.runs.end());
  const RunSettings reversed = trained_with(table, kAll);
  EXPECT_EQ(made.best_lr.coefficient, reversed.best_lr.coefficient);
  EXPECT_EQ(made.best_batch.d_exponent, reversed.best_batch.d_exponent);
}

TEST(RunSettings, TakesOneOfSizeAndTokensWhereTheyGoTogether) {
  const std::vector<Pair> ratio{{1e6, 2e7}, {4e6, 8e7}, {1.6e7, 3.2e8}};
  const RunSettings made = trained_with(grid(ratio, {2, -0.3, 0}, {50, 0, 0.35}), kAll);
  EXPECT_NEAR(made.best_lr.n_exponent, -0.3, 1e-3);
  EXPECT_EQ(made.best_lr.d_exponent, 0);
  EXPECT_EQ(made.best_batch.n_exponent, 0);
  EXPECT_NEAR(made.best_batch.d_exponent, 0.35, 1e-3);
}

TEST(RunSettings, OfOneModelKnowsNoPower) {
  const RunSettings made = trained_with(grid({{1e6, 1e8}}, {0.03, 0, 0}, {2.5e4, 0, 0}), kAll);
  EXPECT_EQ(made.best_lr.cells, 1);
  EXPECT_NEAR(made.best_lr.at(1e9, 1e10), 0.03, 1e-9);
  EXPECT_NEAR(made.best_batch.at(1e9, 1e10) / 2.5e4, 1, 1e-9);
}

// Of a table alone.
TEST(RunSettings, RatesByTheWidthShowTheirRule) {
  ScalingTable table;
  for (const int64_t width : {8, 16, 32, 80}) {
    ScalingRun run;
    run.d_model = width;
    run.lr = 0.012 * 32 / static_cast<double>(width);
    run.global_batch = 512;
    run.status = "done";
    table.runs.push_back(run);
  }
  const RunSettings made = trained_with(table, kAll);
  EXPECT_EQ(made.lr.rule, "width");
  EXPECT_EQ(made.base_width, 8);
  EXPECT_NEAR(made.lr.value, 0.048, 1e-9);
  EXPECT_EQ(made.batch.rule, "fixed");
  EXPECT_EQ(made.batch.value, 512);
  table.runs.back().lr = 0.012;
  EXPECT_FALSE(trained_with(table, kAll).lr.known());
  for (ScalingRun& run : table.runs) run.lr = 0.012;
  EXPECT_FALSE(trained_with(table, kAll).lr.known()) << "with muP or without";
  table.runs.back().global_batch = 1024;
  EXPECT_FALSE(trained_with(table, kAll).batch.known());
  table.runs.resize(2);
  EXPECT_FALSE(trained_with(table, kAll).batch.known()) << "two runs may agree by chance";
}

// A best value at the end of those tried bounds nothing.
TEST(RunSettings, SaysNothingOfABestAtTheEdge) {
  for (const double best : {0.004, 0.3}) {
    const RunSettings made = trained_with(grid(square(), {best, 0, 0}, {1e3, 0, 0}), kAll);
    EXPECT_FALSE(made.best_lr.valid()) << best;
    EXPECT_NE(made.best_lr.problem.find("three or more learning rates"), std::string::npos)
        << made.best_lr.problem;
    EXPECT_NE(made.best_batch.problem.find("three or more batch sizes"), std::string::npos)
        << made.best_batch.problem;
  }
}

ScalingTable of_widths(const std::function<double(int64_t)>& rate, Settings settings) {
  ScalingTable table;
  table.path = "results.csv";
  table.settings = std::move(settings);
  for (const int64_t width : {32, 64, 128}) {
    ScalingRun run;
    run.d_model = width;
    run.n_heads = width / 16;
    run.vocab_size = 65;
    run.n_all = 12.0 * static_cast<double>(width * width);
    run.tokens = 1e6;
    run.loss = 3;
    run.lr = rate(width);
    run.global_batch = 4096;
    table.runs.push_back(run);
  }
  return table;
}

TEST(RunSettings, TakesTheRuleThatTheSweepSays) {
  const auto fixed = [](int64_t) { return 0.01; };
  const auto by_width = [](int64_t width) { return 0.01 * 64 / static_cast<double>(width); };
  RunSettings made = trained_with(
      of_widths(by_width, {{"sweep.lr_rule", "width"}, {"sweep.base_width", "64"}}), kAll);
  EXPECT_EQ(made.lr.rule, "width");
  EXPECT_EQ(made.base_width, 64);
  EXPECT_NEAR(made.lr.value, 0.01, 1e-12);
  EXPECT_EQ(made.vocab_size, 65);
  EXPECT_EQ(made.widest, 128);
  EXPECT_EQ(made.batch.rule, "fixed");
  EXPECT_EQ(made.batch.value, 4096);
  made = trained_with(of_widths(fixed, {{"sweep.lr_rule", "mup"},
                                        {"model.mup_base_width", "32"},
                                        {"model.mup_base_head", "0"}}),
                      kAll);
  EXPECT_EQ(made.lr.rule, "mup");
  EXPECT_EQ(made.mup_base_width, 32);
  EXPECT_EQ(made.mup_base_head, 16) << "the heads of all runs";
  made = trained_with(of_widths(by_width, {{"sweep.lr_rule", "porian"},
                                           {"sweep.lr_factor", "0.5"},
                                           {"sweep.batch_rule", "deepseek"}}),
                      kAll);
  EXPECT_EQ(made.lr.rule, "porian");
  EXPECT_EQ(made.lr.value, 0.5);
  EXPECT_EQ(made.batch.rule, "deepseek");
  EXPECT_EQ(made.batch.value, 1);
  // Results of a sweep that did not say its rules yet.
  EXPECT_EQ(trained_with(of_widths(fixed, {{"model.mup_base_width", "0"}}), kAll).lr.rule, "fixed");
  EXPECT_EQ(trained_with(of_widths(fixed, {{"model.mup_base_width", "32"}}), kAll).lr.rule, "mup");
  EXPECT_EQ(trained_with(of_widths(by_width, {{"model.mup_base_width", "0"}}), kAll).lr.rule,
            "width");
  EXPECT_EQ(trained_with(of_widths(by_width, {{"model.mup_base_width", "32"}}), kAll).lr.rule, "");
  EXPECT_EQ(trained_with(of_widths(fixed, {}), kAll).lr.rule, "") << "it may be muP's";
}

TEST(RunSettings, RefusesWhatIsNoWholeNumber) {
  const auto fixed = [](int64_t) { return 0.01; };
  test::expect_error(ExitCode::usage,
                     {"results.csv: model.mup_base_width is \"12x\", which is no whole number"},
                     [&] {
                       trained_with(of_widths(fixed, {{"model.mup_base_width", "12x"}}), kAll);
                     });
}

TEST(RunSettings, AFolderOfASweepSaysItsRule) {
  const test::Scratch folder;
  const std::string store = folder.file("store.h5");
  train::write_small_store(store);
  sweep::SweepConfig c = tiny_sweep(store, folder.file("sweep"));
  c.tokens = {"1024"};
  c.lr_rule = "width";
  c.base_width = 16;
  sweep_by(1, c);
  for (const char* name : {"sweep", "sweep/results.h5"}) {
    StudyInput input;
    input.path = folder.file(name);
    const RunSettings made = trained_with(read_input(input), kAll);
    EXPECT_EQ(made.lr.rule, "width") << name;
    EXPECT_EQ(made.base_width, 16);
    EXPECT_NEAR(made.lr.value, 0.01, 1e-5);
    EXPECT_EQ(made.batch.rule, "fixed");
    EXPECT_EQ(made.batch.value, 128);
    EXPECT_EQ(made.vocab_size, 64);
  }
  StudyInput table;
  table.path = folder.file("sweep/results.csv");
  EXPECT_FALSE(trained_with(read_input(table), kAll).lr.known());
}

}  // namespace
}  // namespace skein::scaling::study
