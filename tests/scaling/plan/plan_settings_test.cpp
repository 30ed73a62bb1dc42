// A plan by a fit goes on with what the fit's runs were trained with.
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

#include "skein/scaling/plan/plan.h"
#include "skein/scaling/study/study.h"

#include "data/data_fixtures.h"
#include "scaling/fit_fixture.h"
#include "scaling/plan_fixture.h"
#include "scaling/table_fixture.h"

namespace skein::scaling::plan {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::has_warning;

Json rule(const std::string& name, double value) {
  return {{"rule", name}, {"value", value}, {"low", value}, {"high", value}};
}

Json best(double coefficient, double n_exponent, double d_exponent) {
  return {{"problem", ""},
          {"coefficient", coefficient},
          {"n_exponent", n_exponent},
          {"d_exponent", d_exponent},
          {"cells", 6}};
}

Json trained_json(const Json& lr) {
  const Json none{{"problem", "not varied"},
                  {"coefficient", nullptr},
                  {"n_exponent", 0.0},
                  {"d_exponent", 0.0},
                  {"cells", 0}};
  return {{"vocab_size", 32'000},
          {"widest", 512},
          {"base_width", 64},
          {"mup_base_width", nullptr},
          {"mup_base_head", nullptr},
          {"lr", lr},
          {"batch", rule("fixed", 1 << 20)},
          {"best_lr", none},
          {"best_batch", none}};
}

class PlanSettings : public testing::Test {
 protected:
  PlanOptions options(const Json& trained, const Json& limited = nullptr) const {
    Json json = Json::parse(test::fit_json(false));
    if (!trained.is_null()) json["trained_with"] = trained;
    if (!limited.is_null()) json["data_limited"] = limited;
    PlanOptions o = plan_defaults();
    o.fit = scratch_.file("fit.json");
    test::write_file(o.fit, json.dump());
    o.budget = 1e21;
    o.machine.kind = "h100";
    o.machine.count = 64;
    return o;
  }
  Plan plan(const Json& trained, const Json& limited = nullptr) const {
    return make_plan(options(trained, limited));
  }

  test::Scratch scratch_;
};

TEST_F(PlanSettings, SayWhereTheFitKnowsNone) {
  const Plan made = plan(nullptr);
  EXPECT_EQ(made.options.lr_rule, "step_law");
  EXPECT_EQ(made.settings.lr,
            hyperparameters("step_law", made.proposal.counts, made.proposal.tokens).lr);
  EXPECT_TRUE(has_warning(made, "does not say by which rule its runs got their learning rate"));
  EXPECT_TRUE(has_warning(made, "does not say by which rule its runs got their batch"));
  EXPECT_TRUE(has_warning(made, "step_law, which knows nothing of these runs"));
  PlanOptions o = options(nullptr);
  o.lr_rule = o.batch_rule = "deepseek";
  EXPECT_FALSE(has_warning(make_plan(o), "does not say by which rule")) << "it was asked for";
  o.lr_rule = "fit";
  expect_error(ExitCode::usage, {"plan.lr_rule=fit", "fit.json does not say", "step_law"},
               [&] { make_plan(o); });
  o.fit.clear();
  expect_error(ExitCode::usage, {"plan.lr_rule=fit", "the published law does not say"},
               [&] { make_plan(o); });
}

TEST_F(PlanSettings, AreThoseOfTheRuns) {
  const Plan fixed = plan(trained_json(rule("fixed", 3e-4)));
  EXPECT_EQ(fixed.settings.lr, 3e-4);
  EXPECT_EQ(fixed.settings.batch_tokens, 1 << 20);
  EXPECT_EQ(fixed.options.lr_rule, "fit");
  EXPECT_NE(plan_text(fixed).find("0.0003 (the fit's runs: fixed; kaplan "), std::string::npos)
      << plan_text(fixed);
  EXPECT_TRUE(has_warning(fixed, "had one learning rate at all sizes, up to a width of 512"));
  EXPECT_FALSE(has_warning(fixed, "does not say by which rule"));
  const Plan width = plan(trained_json(rule("width", 3e-3)));
  EXPECT_NEAR(width.settings.lr * static_cast<double>(width.proposal.model.d_model), 3e-3 * 64,
              1e-12);
  EXPECT_FALSE(has_warning(width, "at all sizes"));
  const Plan porian = plan(trained_json(rule("porian", 0.5)));
  const Hyperparameters whole =
      hyperparameters("porian", porian.proposal.counts, porian.proposal.tokens);
  EXPECT_NEAR(porian.settings.lr / whole.lr, 0.5, 1e-12);
  EXPECT_EQ(porian.lr_origin, "the fit's runs: porian times 0.5");
  PlanOptions o = options(trained_json(rule("fixed", 3e-4)));
  o.lr_rule = "porian";
  EXPECT_NEAR(make_plan(o).settings.lr / whole.lr, 1, 1e-12) << "what was asked for";
}

// What did best at sizes that are close together says nothing of other sizes.
TEST_F(PlanSettings, ARuleThatMovesWithTheSizeStandsAboveABestThatDoesNot) {
  Json trained = trained_json(rule("width", 3e-3));
  trained["best_lr"] = best(2.8e-3, 0, 0);
  const Plan width = plan(trained);
  EXPECT_NEAR(width.settings.lr * static_cast<double>(width.proposal.model.d_model), 3e-3 * 64,
              1e-12);
  EXPECT_NE(width.lr_origin.find("at width 64"), std::string::npos) << width.lr_origin;
  trained["lr"] = rule("fixed", 3e-3);
  const Plan fixed = plan(trained);
  EXPECT_EQ(fixed.settings.lr, 2.8e-3);
  EXPECT_TRUE(has_warning(fixed, "one learning rate at all sizes"));
}

TEST_F(PlanSettings, AreTheBestWhereTheRunsDiffer) {
  Json trained = trained_json(rule("fixed", 3e-4));
  trained["best_lr"] = best(0.3, -0.3, 0.02);
  trained["best_batch"] = best(700, 0, 0.3);
  const Plan made = plan(trained);
  const double n = made.proposal.n, d = made.proposal.tokens;
  EXPECT_NEAR(made.settings.lr / (0.3 * std::pow(n, -0.3) * std::pow(d, 0.02)), 1, 1e-12);
  EXPECT_NEAR(made.settings.batch_tokens / (700 * std::pow(d, 0.3)), 1, 1e-12);
  EXPECT_EQ(made.lr_origin, "the fit's best: 0.3 N^-0.3 D^0.02, of 6 cells of its runs");
  const Json json = Json::parse(plan_json(made));
  EXPECT_EQ(json.at("lr").get<double>(), made.settings.lr);
  EXPECT_EQ(json.at("lr_rule"), "fit");
  EXPECT_EQ(json.at("lr_origin"), made.lr_origin);
}

TEST_F(PlanSettings, TakeMupWithItsRates) {
  Json trained = trained_json(rule("mup", 2e-3));
  trained["mup_base_width"] = 256;
  trained["mup_base_head"] = 32;
  const Plan made = plan(trained);
  EXPECT_EQ(made.settings.lr, 2e-3);
  train::PretrainConfig run;
  Options read("skein pretrain", "");
  bind(read, run);
  read.read_ini(plan_config(made), "plan.ini");
  EXPECT_EQ(run.model.mup_base_width, 256);
  EXPECT_EQ(run.model.mup_base_head, 32);
  PlanOptions o = options(trained);
  o.model.mup_base_width = 128;
  expect_error(ExitCode::usage, {"model.mup_base_width=128", "256", "plan.lr_rule"},
               [&] { make_plan(o); });
  o.lr_rule = "porian";
  EXPECT_EQ(make_plan(o).proposal.model.mup_base_width, 128);
}

TEST_F(PlanSettings, WarnOfAnotherVocabulary) {
  Json trained = trained_json(rule("fixed", 3e-4));
  EXPECT_FALSE(has_warning(plan(trained), "vocabulary"));
  trained["vocab_size"] = 65;
  EXPECT_TRUE(has_warning(plan(trained), "a vocabulary of 65 ids, and model.vocab_size=32000"));
  PlanOptions o = options(trained);
  o.model.vocab_size = 65;
  EXPECT_FALSE(has_warning(make_plan(o), "vocabulary"));
}

Json limited_json(const Json& r_n) {
  const auto interval = [](const Json& value) {
    return Json{{"value", value}, {"low", nullptr}, {"high", nullptr}, {"error", nullptr}};
  };
  return {{"problem", ""},
          {"fit",
           {{"RD", interval(7.5)},
            {"RN", interval(r_n)},
            {"convergence", {{"converged", true}, {"problem", ""}}}}}};
}

TEST_F(PlanSettings, CountDataSeenAgainAsTheRunsDid) {
  const auto loss_by = [&](const Json& limited, double r_d, double r_n) {
    PlanOptions o = options(trained_json(rule("fixed", 3e-4)), limited);
    o.tokens = 2e9;
    const Plan made = make_plan(o);
    EXPECT_GT(made.proposal.epochs, 1);
    const DataLimitedLaw law{test::converged(), r_d, r_n};
    EXPECT_NEAR(made.proposal.loss.value, law.loss(made.proposal.n, made.proposal.tokens, 2e9),
                1e-12);
    return made;
  };
  EXPECT_TRUE(has_warning(loss_by(limited_json(3.25), 7.5, 3.25),
                          "(R_D 7.5, R_N 3.25, of the fit's own runs)"));
  EXPECT_TRUE(
      has_warning(loss_by(limited_json(nullptr), 7.5, std::numeric_limits<double>::infinity()),
                  "(R_D 7.5, of the fit's own runs)"));
  const Json none{{"problem", "no run sees data again"}, {"fit", nullptr}};
  EXPECT_TRUE(has_warning(loss_by(none, 15.39, 5.31),
                          "(R_D 15.39, R_N 5.31 as published, for the fit has none of its own: no "
                          "run sees data again)"));
}

TEST_F(PlanSettings, OfDamagedFitsAreRefused) {
  const auto refuse = [&](const std::function<void(Json&)>& change,
                          std::initializer_list<std::string> words) {
    Json trained = trained_json(rule("fixed", 3e-4));
    change(trained);
    expect_error(ExitCode::usage, words, [&] { plan(trained); });
  };
  refuse([](Json& json) { json["lr"]["value"] = -1; }, {"fit.json", "\"value\" is -1"});
  refuse([](Json& json) { json["lr"]["rule"] = "cosine"; },
         {"fit.json", "no rule 'cosine'", "fixed", "step_law"});
  refuse([](Json& json) { json["lr"]["rule"] = "mup"; }, {"fit.json", "mup_base_width"});
  refuse([](Json& json) { json["vocab_size"] = 0; }, {"fit.json", "vocab_size"});
  refuse([](Json& json) { json.erase("batch"); }, {"fit.json", "batch"});
  refuse([](Json& json) { json["best_lr"] = best(0, 0, 0); }, {"fit.json", "coefficient"});
  expect_error(ExitCode::usage, {"fit.json", "RD -7.5"}, [&] {
    Json limited = limited_json(nullptr);
    limited["fit"]["RD"]["value"] = -7.5;
    plan(nullptr, limited);
  });
}

// From the rows of a sweep to the plan: what `skein fit` writes is what `skein plan` reads.
TEST_F(PlanSettings, ComeFromTheRowsOfTheSweep) {
  ScalingTable table = test::isoflop_table(test::TrueLaw{}, 4, 7, 1.6, 0.002);
  table.settings = {
      {"sweep.lr_rule", "fixed"}, {"sweep.batch_rule", "fixed"}, {"model.mup_base_width", "0"}};
  for (ScalingRun& run : table.runs) {
    run.lr = 6e-4;
    run.global_batch = 1 << 19;
    run.vocab_size = 50'257;
    run.d_model = 1024;
  }
  study::StudyOptions study;
  study.parametric.resamples = 0;
  study.all_conventions = false;
  PlanOptions o = options(nullptr);
  test::write_file(o.fit, study_json(make_study(table, study)));
  const Plan made = make_plan(o);
  EXPECT_EQ(made.settings.lr, 6e-4);
  EXPECT_EQ(made.settings.batch_tokens, 1 << 19);
  EXPECT_TRUE(has_warning(made, "a vocabulary of 50257 ids"));
}

}  // namespace
}  // namespace skein::scaling::plan
