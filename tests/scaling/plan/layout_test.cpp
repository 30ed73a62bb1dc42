// How a plan deals a model to devices.
#include <gtest/gtest.h>

#include "skein/scaling/plan/plan.h"

#include "data/data_fixtures.h"
#include "models/formulas.h"
#include "scaling/plan_fixture.h"

namespace skein::scaling::plan {
namespace {

using test::has_warning;
using test::large_plan;

TEST(Layout, FitsAndUsesEveryDevice) {
  const Plan plan = make_plan(large_plan());
  const ParallelConfig& p = plan.layout.parallel;
  EXPECT_EQ(p.pipeline * p.data * p.tensor, 1024);
  EXPECT_TRUE(plan.layout.fits);
  EXPECT_LE(plan.layout.bytes(), 0.9 * 79.2 * (1 << 30));
  EXPECT_GT(p.tensor * p.pipeline, 1);  // 18 bytes of 7e10 parameters are no part of one device
  const BatchPlan batch =
      plan_batch(p, mesh_shape(p, 1024), plan.layout.global_batch, plan.layout.micro_batch);
  EXPECT_EQ(batch.groups_per_rank, 1);
  check(plan.proposal.model, p.tensor, p.sequence);
  EXPECT_EQ(plan.proposal.model.n_heads % 8, 0);
  EXPECT_EQ(plan.proposal.model.head_width(), 128);
}

// 72 heads with 9 key heads would leave tensor-parallel layouts to no even number of ranks.
TEST(Layout, DividesHeadsAndKeyHeadsOfLargeModels) {
  for (const double budget : {1e21, 1e22, 1e24, 1e25}) {
    PlanOptions o = large_plan();
    o.budget = budget;
    o.model.n_heads = 64;
    o.model.n_kv_heads = 8;
    const Plan plan = make_plan(o);
    std::vector<Proposal> all = plan.same_flops;
    all.push_back(plan.proposal);
    for (const Proposal& one : all) {
      const ModelConfig& m = one.model;
      EXPECT_EQ(m.n_heads % 8, 0) << budget;
      EXPECT_EQ(m.n_heads % m.kv_heads(), 0)
          << budget << ": " << m.n_heads << " and " << m.kv_heads();
      EXPECT_TRUE(m.n_heads <= 32 || m.kv_heads() % 8 == 0)
          << budget << ": " << m.n_heads << " and " << m.kv_heads();
    }
  }
}

TEST(Layout, CountsParametersAndActivations) {
  ModelConfig model = plan_defaults().model;
  model.d_model = 1024;
  model.n_heads = 16;
  model.n_layers = 8;
  Machine machine;
  machine.memory = 1000;
  const Layout one = lay_out(model, machine, 2048 * 4);
  EXPECT_EQ(one.micro_batch, 4);
  EXPECT_EQ(one.parallel.recompute, Recompute::none);
  const double flow = test::activation_bytes_by_formula(model, {4 * 2048, 8, DType::bf16});
  const auto table = static_cast<double>(model.tie_embeddings ? model.vocab_size * 1024 : 0);
  // Logits f32 and their gradients bf16, and the rows on both sides of the product.
  const auto head = [](double rows) { return rows * (32000 * (4 + 2) + 1024 * (2 + 2)); };
  EXPECT_NEAR(one.bytes(),
              18 * static_cast<double>(model.parameters()) + 4 * table + flow + head(8192),
              1e-3 * one.bytes());
  machine.count = 4;
  const Layout four = lay_out(model, machine, 2048 * 4);
  EXPECT_EQ(four.parallel.data, 4);
  EXPECT_TRUE(four.parallel.zero);
  EXPECT_NEAR(four.bytes(),
              9 * static_cast<double>(model.parameters()) + 4 * table +
                  test::activation_bytes_by_formula(model, {2048, 8, DType::bf16}) + head(2048),
              1e-3 * four.bytes());
}

TEST(Layout, GivesUpTimeForMemoryAndSaysWhenThatIsNotEnough) {
  ModelConfig model = plan_defaults().model;
  model.d_model = 4096;
  model.n_heads = 32;
  model.n_layers = 32;
  Machine machine;
  machine.count = 8;
  machine.memory = 1000;
  EXPECT_EQ(lay_out(model, machine, 1 << 20).parallel.data, 8);
  machine.memory = 40;
  const Layout tight = lay_out(model, machine, 1 << 20);
  EXPECT_TRUE(tight.fits);
  EXPECT_GT(tight.parallel.tensor * tight.parallel.pipeline, 1);
  machine.memory = 8;
  EXPECT_FALSE(lay_out(model, machine, 1 << 20).fits);
  machine.count = 6;
  machine.memory = 1000;
  EXPECT_EQ(lay_out(model, machine, 1 << 20).devices(), 6);
}

// A cluster that has lost a host goes on with the others.
TEST(Layout, UsesAnyNumberOfDevices) {
  ModelConfig model = plan_defaults().model;
  model.d_model = 4096;
  model.n_heads = 32;
  model.n_layers = 32;
  Machine machine;
  machine.memory = 1000;
  machine.count = 37;
  EXPECT_EQ(lay_out(model, machine, 1 << 20).devices(), 37);
  machine.count = 40;
  EXPECT_EQ(lay_out(model, machine, 1 << 20).devices(), 40);
  for (const int64_t count : {9'999, 10'000, 16'384, 20'000, 100'000, 131'072, 1'000'000}) {
    machine.count = count;
    const Layout layout = lay_out(model, machine, 1 << 28);
    EXPECT_LE(layout.devices(), count);
    EXPECT_GT(layout.devices(), count - count / 100);
    if ((count & (count - 1)) == 0) {
      EXPECT_EQ(layout.devices(), count);
    }
    plan_batch(layout.parallel, mesh_shape(layout.parallel, static_cast<int>(layout.devices())),
               layout.global_batch, layout.micro_batch);
  }
}

TEST(Plan, CountsTheCostOfTheDevicesAtWork) {
  PlanOptions o = large_plan();
  o.machine.count = 100'003;  // a prime
  const Plan plan = make_plan(o);
  const auto at_work = static_cast<double>(plan.layout.devices());
  ASSERT_LT(at_work, 100'003);
  const double seconds = 5.88e23 / (at_work * 989.4e12 * 0.4);
  EXPECT_NEAR(plan.proposal.cost.seconds.value / seconds, 1, 1e-12);
  EXPECT_NEAR(plan.same_flops[0].cost.seconds.value / seconds, 1, 1e-9);
  EXPECT_TRUE(has_warning(plan, fmt::format("machine.count=100003: {} devices have nothing to do",
                                            100'003 - plan.layout.devices())));
  EXPECT_NE(
      plan_text(plan).find(fmt::format("The cost on {} of 100003 devices", plan.layout.devices())),
      std::string::npos);
  EXPECT_NE(plan_config(plan).find(fmt::format("# Ranks: {}.", plan.layout.devices())),
            std::string::npos);
  o.machine.count = 16'384;
  const Plan whole = make_plan(o);
  EXPECT_EQ(whole.layout.devices(), 16'384);
  EXPECT_FALSE(has_warning(whole, "nothing to do"));
  EXPECT_NE(plan_text(whole).find("The cost on 16384 devices"), std::string::npos);
}

// More data-parallel ranks than the batch has sequences would train with another batch than is
// proposed.
TEST(Layout, KeepsTheBatchOfTheRuleWhereThatTakesLessTime) {
  PlanOptions o = large_plan();
  o.budget = 1e22;
  o.machine.count = 16'384;
  const Plan plan = make_plan(o);
  EXPECT_LT(static_cast<double>(plan.layout.global_batch * plan.proposal.model.context),
            4 * plan.settings.batch_tokens);
}

}  // namespace
}  // namespace skein::scaling::plan
