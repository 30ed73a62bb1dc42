#include "skein/scaling/sweep/design.h"

#include <cmath>
#include <gtest/gtest.h>

#include "scaling/sweep_fixture.h"

namespace skein::scaling::sweep {
namespace {

SweepConfig config() { return tiny_sweep("none", ""); }

SweepConfig isoflop() {
  SweepConfig c = config();
  c.kind = SweepConfig::Kind::isoflop;
  c.shapes.clear();
  c.tokens.clear();
  c.budgets = {"1e9", "1e10"};
  c.sizes_per_budget = 5;
  c.spread = 2;
  c.shape.aspect = 16;
  c.centres = {"5k", "2e4"};
  return c;
}

std::vector<std::string> names_of(const SweepConfig& c) {
  std::vector<std::string> names;
  for (const SweepCell& cell : make_design(c).cells) names.push_back(cell.name);
  return names;
}

TEST(Design, SomeCellsAreRepeatedWithOtherSeeds) {
  SweepConfig c = isoflop();
  c.sizes_per_budget = 0;
  c.centres.clear();
  c.shapes = {"1x16", "1x32"};
  const std::vector<std::string> all = names_of(c);
  ASSERT_EQ(all.size(), 4u);
  const auto with_seed = [](std::string name, char seed) { return name.back() = seed, name; };
  c.repeat_seeds = {1, 2, 3};
  c.repeat_shapes = {"1x32"};
  EXPECT_EQ(names_of(c), (std::vector<std::string>{
                             all[0], all[1], with_seed(all[1], '2'), with_seed(all[1], '3'), all[2],
                             all[3], with_seed(all[3], '2'), with_seed(all[3], '3')}));
  c.repeat_budgets = {"1e9"};
  EXPECT_EQ(names_of(c), (std::vector<std::string>{all[0], all[1], with_seed(all[1], '2'),
                                                   with_seed(all[1], '3'), all[2], all[3]}));
  c.repeat_shapes.clear();
  EXPECT_EQ(make_design(c).cells.size(), 8u);
  SweepConfig grid = config();
  grid.repeat_seeds = {7};
  grid.repeat_shapes = {"1x8"};
  EXPECT_EQ(make_design(grid).cells.size(), 6u);
}

TEST(Design, RepeatsOfNothingAreRefused) {
  const auto expect_told = [](const std::function<void(SweepConfig&)>& change,
                              const std::string& word) {
    SweepConfig c = isoflop();
    c.repeat_seeds = {2};
    c.repeat_budgets = {"1e9"};
    change(c);
    test::expect_error(ExitCode::usage, {word}, [&] { make_design(c); });
  };
  expect_told([](SweepConfig& c) { c.repeat_budgets.clear(); }, "sweep.seeds is for all");
  expect_told([](SweepConfig& c) { c.repeat_seeds.clear(); },
              "sweep.repeat_seeds= is for some cells");
  expect_told([](SweepConfig& c) { c.repeat_budgets = {"2e9"}; },
              "2e+09 is none of sweep.budgets=1e9,1e10");
  expect_told([](SweepConfig& c) { c.repeat_shapes = {"9x999"}; },
              "no model 9x999 here at sweep.repeat_budgets=1e9; there are ");
  expect_told([](SweepConfig& c) { c.repeat_seeds = {-2}; }, "-2 must be at least 0");
  expect_told([](SweepConfig& c) { c.kind = SweepConfig::Kind::list; }, "column seed");
  expect_told([](SweepConfig& c) { c.kind = SweepConfig::Kind::grid; }, "sweep.kind=isoflop only");
}

TEST(Design, MuPTakesItsBaseFromEitherOption) {
  SweepConfig c = config();
  c.lr_rule = "mup";
  c.run.model.mup_base_width = 16;
  c.run.model.mup_base_head = 4;
  const SweepCell cell = make_design(c).cells[0];
  EXPECT_EQ(cell.run.model.mup_base_width, 16);
  EXPECT_EQ(cell.run.model.mup_base_head, 4);
  EXPECT_DOUBLE_EQ(cell.run.model.attention_scale(), std::sqrt(4.0) / 8)
      << "heads of 8 with scores as heads of 4 have them";
  check(cell.run.model, 1, false);
  c.base_width = 32;
  test::expect_error(ExitCode::usage, {"sweep.base_width=32 and model.mup_base_width=16"},
                     [&] { make_design(c); });
  c.lr_rule = "width";
  test::expect_error(ExitCode::usage, {"take sweep.lr_rule=mup"}, [&] { make_design(c); });
  c.run.model.mup_base_width = 0;
  c.lr_rule = "mup";
  EXPECT_EQ(make_design(c).cells[0].run.model.mup_base_width, 32);
  EXPECT_EQ(make_design(c).cells[0].run.model.mup_base_head, 4);
}

TEST(Design, NumbersAreReadAsTheyAreSpoken) {
  EXPECT_EQ(number_of("2.5M", "x"), 2.5e6);
  EXPECT_EQ(number_of("10k", "x"), 1e4);
  EXPECT_EQ(number_of("1e12", "x"), 1e12);
  for (const char* bad : {"", "k", "1q", "10kk", "-1", "0", "nan", "inf", "1e999", "1 k"})
    test::expect_error(ExitCode::usage, {"sweep.sizes"}, [&] { number_of(bad, "sweep.sizes"); });
}

TEST(Design, GridIsAllCombinationsWithWholeSteps) {
  SweepConfig c = config();
  c.lr = {"1e-2", "2e-2"};
  c.seeds = {1, 2, 3};
  const SweepDesign design = make_design(c);
  ASSERT_EQ(design.cells.size(), 2u * 2 * 2 * 3);
  const SweepCell& cell = design.cells.front();
  EXPECT_EQ(cell.name, "1x8-16x128-lr0.01-s1");
  EXPECT_EQ(cell.run.train.steps, 16);
  EXPECT_EQ(cell.run.train.global_batch, 8);
  EXPECT_EQ(cell.tokens, 2048);
  EXPECT_EQ(cell.flops, cell.counts.flops_per_token * 2048);
  EXPECT_EQ(cell.run.model.n_heads, 1);
  EXPECT_DOUBLE_EQ(design.cells[3].run.lr.min_lr, 2e-4) << "the least rate keeps its proportion";
  EXPECT_EQ(design.cells[1].run.train.seed, 2u);
  EXPECT_TRUE(design.warnings.empty());
}

TEST(Design, TokensFollowTheParametersAndStepsAreRounded) {
  SweepConfig c = config();
  c.tokens.clear();
  c.tokens_per_parameter = {"3"};
  c.batch = {"160"};
  c.shapes = {"1x8"};
  const SweepDesign design = make_design(c);
  const double wanted = 3 * design.cells[0].counts.all;
  EXPECT_LE(std::abs(design.cells[0].tokens - wanted), 80);
  EXPECT_EQ(std::fmod(design.cells[0].tokens, 160), 0);
}

TEST(Design, BudgetsAreMetBySizesAroundTheirCentres) {
  const SweepConfig c = isoflop();
  const SweepDesign design = make_design(c);
  ASSERT_EQ(design.cells.size(), 10u);
  EXPECT_TRUE(design.warnings.empty());
  for (size_t i = 0; i < 10; ++i) {
    const SweepCell& cell = design.cells[i];
    EXPECT_NEAR(cell.flops / (i < 5 ? 1e9 : 1e10), 1, 0.02) << cell.name;
    EXPECT_EQ(cell.budget, i < 5 ? 1e9 : 1e10);
  }
  EXPECT_NEAR(std::log(design.cells[2].counts.blocks / 5e3), 0, 0.4);
  EXPECT_NEAR(std::log(design.cells[7].counts.blocks / 2e4), 0, 0.4);
}

TEST(Design, BudgetsAreCountedAsAsked) {
  SweepConfig c = isoflop();
  c.flops = FlopCount::six_n;
  for (const SweepCell& cell : make_design(c).cells)
    EXPECT_NEAR(6 * cell.counts.all * cell.tokens / cell.budget, 1, 0.02);
  c.flops = FlopCount::six_n_head;
  for (const SweepCell& cell : make_design(c).cells)
    EXPECT_NEAR(6 * (cell.counts.blocks + cell.counts.head) * cell.tokens / cell.budget, 1, 0.02);
}

TEST(Design, CentresFollowTheRatioUnlessTheyAreGiven) {
  SweepConfig c = isoflop();
  c.centres.clear();
  c.sizes_per_budget = 1;
  c.centre_ratio = 5;
  for (const SweepCell& cell : make_design(c).cells)
    EXPECT_NEAR(std::log(cell.counts.blocks / std::sqrt(cell.budget / 30)), 0, 0.4);
}

TEST(Design, MissedBudgetsAndEqualCellsAreTold) {
  SweepConfig c = isoflop();
  c.budgets = {"1e7"};
  c.centres = {"5k"};
  c.batch = {"2048"};
  const SweepDesign design = make_design(c);
  ASSERT_FALSE(design.warnings.empty());
  EXPECT_NE(design.warnings[0].find("% off the 1e+07"), std::string::npos) << design.warnings[0];

  SweepConfig twice = config();
  twice.shapes = {"1x8", "1x8"};
  EXPECT_EQ(make_design(twice).cells.size(), 2u);
  EXPECT_EQ(make_design(twice).warnings.size(), 2u);
}

TEST(Design, WarmUpIsTheLessOfItsShareAndATokenAParameter) {
  SweepConfig c = config();
  c.tokens = {"1e6"};
  c.warmup = 0.1;
  c.shapes = {"1x8"};
  const SweepDesign design = make_design(c);
  EXPECT_EQ(design.cells[0].run.lr.warmup, std::llround(design.cells[0].counts.all / 128));
  c.tokens = {"4096"};
  EXPECT_EQ(make_design(c).cells[0].run.lr.warmup, 3);
  c.warmup = 0;
  EXPECT_EQ(make_design(c).cells[0].run.lr.warmup, 0);
}

TEST(Design, RatesFollowTheRule) {
  SweepConfig c = config();
  c.lr_rule = "width";
  c.base_width = 16;
  const auto widths = make_design(c).cells;
  EXPECT_DOUBLE_EQ(widths[0].run.lr.lr, 2e-2);
  EXPECT_DOUBLE_EQ(widths[3].run.lr.lr, 1e-2);
  c.lr_rule = "mup";
  const auto scaled = make_design(c).cells;
  EXPECT_EQ(scaled[0].run.lr.lr, scaled[3].run.lr.lr);
  EXPECT_EQ(scaled[0].run.model.mup_base_width, 16);
  c.lr_rule = "porian";
  c.lr_factor = 0.5;
  const SweepCell cell = make_design(c).cells[0];
  EXPECT_NEAR(cell.run.lr.lr, 0.5 * hyperparameters("porian", cell.counts, cell.tokens).lr,
              1e-3 * cell.run.lr.lr);
  c.lr_rule = "fixed";
  c.batch.clear();
  c.batch_rule = "step_law";
  EXPECT_EQ(make_design(c).cells[0].run.train.global_batch % 4, 0);
}

TEST(Design, BatchesAreSummedAlikeWhateverTheRanks) {
  SweepConfig c = config();
  c.batch = {"96"};
  c.run.train.micro_batch = 4;
  const SweepCell cell = make_design(c).cells[0];
  EXPECT_EQ(cell.run.train.global_batch, 6);
  EXPECT_EQ(cell.run.parallel.reduction_groups, 2);
  EXPECT_EQ(cell.run.train.micro_batch, 3);
}

TEST(Design, FallsOfWsdFitTheRun) {
  SweepConfig c = config();
  c.run.lr.decay = train::LrConfig::Decay::wsd;
  EXPECT_EQ(make_design(c).cells[1].run.lr.cooldown, 6);
}

TEST(Design, ListsAreReadByTheirColumns) {
  test::Scratch folder;
  const std::string path = folder.file("cells.csv");
  std::ofstream(path) << "shape, tokens, lr, seed\n1x8,2048,0.02,0\n2x16 , 1e4, , 7\n";
  SweepConfig c = config();
  c.kind = SweepConfig::Kind::list;
  c.shapes.clear();
  c.tokens.clear();
  c.batch.clear();
  c.list = path;
  const auto cells = make_design(c).cells;
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].run.lr.lr, 0.02);
  EXPECT_EQ(cells[0].run.train.seed, 0u);
  EXPECT_EQ(cells[1].run.lr.lr, 0.01);
  EXPECT_EQ(cells[1].run.model.n_layers, 2);

  const auto expect_told = [&](const std::string& text, const std::string& word) {
    std::ofstream(path) << text;
    test::expect_error(ExitCode::usage, {word}, [&] { make_design(c); });
  };
  expect_told("", "is empty");
  expect_told("shape,tokens\n", "no row");
  expect_told("shape,token\n1x8,5\n", "did you mean \"tokens\"");
  expect_told("shape,tokens,tokens\n1x8,5,5\n", "twice");
  expect_told("shape,tokens\n1x8,many\n", ":2: tokens: \"many\"");
  expect_told("shape,tokens\n1y8,500\n", "\"1y8\" is no shape");
  expect_told("shape,tokens\n1x8\n", "1 fields for 2");
  expect_told("shape,size,tokens\n1x8,500,500\n", "both size and shape");
  expect_told("shape,tokens,seed\n1x8,500,1.5\n", "no whole number");
}

TEST(Design, ContradictionsAreRefused) {
  const auto expect_told = [](const std::function<void(SweepConfig&)>& change,
                              const std::string& word) {
    SweepConfig c = config();
    change(c);
    test::expect_error(ExitCode::usage, {word}, [&] { make_design(c); });
  };
  expect_told([](SweepConfig& c) { c.tokens.clear(); },
              "sweep.tokens or sweep.tokens_per_parameter");
  expect_told([](SweepConfig& c) { c.sizes = {"1000"}; }, "sweep.sizes and sweep.shapes");
  expect_told([](SweepConfig& c) { c.budgets = {"1e9"}; }, "isoflop only");
  expect_told([](SweepConfig& c) { c.list = "x"; }, "kind=list only");
  const auto listed = [](SweepConfig& c) {
    c.kind = SweepConfig::Kind::list, c.list = "x", c.shapes.clear(), c.tokens.clear(),
    c.batch.clear();
  };
  expect_told([=](SweepConfig& c) { listed(c), c.lr = {"1e-3"}; }, "sweep.lr is for grids");
  expect_told([=](SweepConfig& c) { listed(c), c.batch = {"512"}; }, "sweep.batch is for grids");
  expect_told([](SweepConfig& c) { c.lr_rule = "best"; }, "sweep.lr_rule=best");
  expect_told([](SweepConfig& c) { c.lr_rule = "width"; }, "sweep.base_width");
  expect_told([](SweepConfig& c) { c.lr_rule = "porian", c.lr = {"1e-3"}; }, "sweep.lr_factor");
  expect_told([](SweepConfig& c) { c.batch_rule = "kaplan"; }, "sweep.batch_rule=kaplan");
  expect_told([](SweepConfig& c) { c.batch_rule = "porian"; }, "contradicts");
  expect_told([](SweepConfig& c) { c.run.train.steps = 7; }, "train.steps=7");
  expect_told([](SweepConfig& c) { c.run.lr.warmup = 7; }, "sweep.warmup");
  expect_told([](SweepConfig& c) { c.run.lr.decay = train::LrConfig::Decay::noam; },
              "use inverse_sqrt");
  expect_told([](SweepConfig& c) { c.run.lr.factor = 2; }, "lr.factor=2 is for lr.decay=noam");
  expect_told([](SweepConfig& c) { c.run.mlm.rate = 0.5; },
              "but models of model.architecture=gpt fill in none");
  expect_told([](SweepConfig& c) { c.run.noise.infill = 0.5; }, "noise.* is for encoder-decoders");
  expect_told([](SweepConfig& c) { c.run.validation.patience = 7; }, "validation.patience=7");
  expect_told([](SweepConfig& c) { c.run.checkpoint.load = "x"; }, "checkpoint.load=x");
  expect_told([](SweepConfig& c) { c.warmup = 1.5; }, "sweep.warmup=1.5");
  expect_told([](SweepConfig& c) { c.shapes = {"1x12"}; }, "heads of width 8");
  expect_told([](SweepConfig& c) { c.tokens = {"1e300"}; }, "no run makes");
  SweepConfig c = isoflop();
  c.sizes = {"1e4"};
  test::expect_error(ExitCode::usage, {"one of them"}, [&] { make_design(c); });
  c = isoflop();
  c.centres = {"1e4"};
  test::expect_error(ExitCode::usage, {"1 sizes for 2 budgets"}, [&] { make_design(c); });
  c = isoflop();
  c.tokens = {"1e4"};
  test::expect_error(ExitCode::usage, {"leave out sweep.tokens"}, [&] { make_design(c); });
}

}  // namespace
}  // namespace skein::scaling::sweep
