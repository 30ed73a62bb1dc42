// What a user may say of a plan's budget.
#include <gtest/gtest.h>

#include "skein/scaling/plan/plan.h"

#include "data/data_fixtures.h"

namespace skein::scaling::plan {
namespace {

using test::expect_error;

PlanOptions with_text(const std::string& text) {
  PlanOptions o = plan_defaults();
  o.budget_text = text;
  o.machine.peak = 1e15;
  o.machine.share = 0.5;
  return o;
}

double flops(const std::string& text) { return make_plan(with_text(text)).flops; }

TEST(PlanBudget, IsFlopsOrTimeOfDevices) {
  for (const char* text : {"5e20", "5e20FLOPs", "5e20 flop", "500e18 FLOPs"})
    EXPECT_EQ(flops(text), 5e20) << text;
  for (const char* text : {"48h", "48 hours", "48GPU-hours", "48 gpu_hours", "48 device hours",
                           "2d", "2 GPU-days", "2GPUdays"})
    EXPECT_NEAR(flops(text) / (48 * 3600 * 0.5e15), 1, 1e-12) << text;
}

TEST(PlanBudget, RefusesWhatItCannotRead) {
  for (const char* text : {"many", "5k", "5e20FLOP/s", "5e", "0x10", "1e999", "nan", " 5"})
    expect_error(ExitCode::usage,
                 {"plan.budget=\"" + std::string(text) + "\"", "5000h", "machine.kind"},
                 [&] { flops(text); });
  expect_error(ExitCode::usage, {"plan.budget=-1 ", "FLOPs above 0"}, [&] { flops("-1"); });
  expect_error(ExitCode::usage, {"one budget", "none"}, [&] { flops(""); });
  expect_error(ExitCode::usage, {"one budget", "none"}, [&] { flops("0"); });
  PlanOptions both = with_text("5h");
  both.gpu_hours = 3;
  expect_error(ExitCode::usage, {"one budget", "5h", "plan.gpu_hours=3", "not both"},
               [&] { make_plan(both); });
  PlanOptions bare = with_text("5h");
  bare.machine.peak = 0;
  expect_error(ExitCode::usage, {"5 device hours", "machine.kind or machine.peak"},
               [&] { make_plan(bare); });
}

}  // namespace
}  // namespace skein::scaling::plan
