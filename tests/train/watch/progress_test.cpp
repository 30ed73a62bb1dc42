// What a run tells of how fast it goes.
#include "skein/train/progress.h"

#include <cmath>
#include <gtest/gtest.h>

namespace skein::train {
namespace {

// A rollback goes back to the steps before this start.
TEST(Progress, CountsTheStepsThatItSaw) {
  StepResult result;
  result.tokens = 100;
  Progress progress(10, 20, 0);
  for (const int64_t done : {11, 9, 10, 11}) progress.step_done(done, result);
  const std::string line = progress.line(result, 1e-3);
  EXPECT_NE(line.find("step 11/20"), std::string::npos) << line;
  for (const char* wrong : {"nan", "inf", "-"})
    EXPECT_EQ(line.find(wrong, line.find("lr 1.00e-03") + 11), std::string::npos) << line;
  EXPECT_TRUE(progress.summary().starts_with("4 steps, 400 tokens in ")) << progress.summary();
}

TEST(Progress, TellsLinksOfGraphs) {
  StepResult result;
  result.tokens = 100;
  Progress progress(0, 20, 0);
  progress.step_done(1, result);
  EXPECT_EQ(progress.line(result, 1e-3).find("links"), std::string::npos);
  EXPECT_EQ(value_named(progress.values(result, 1e-3), "links_per_second"), 0);
  result.links = 400;
  progress.step_done(2, result);
  EXPECT_NE(progress.line(result, 1e-3).find(" links/s  "), std::string::npos);
  EXPECT_TRUE(progress.summary().ends_with(" links/s")) << progress.summary();
  const NamedValues values = progress.values(result, 1e-3);
  EXPECT_NEAR(value_named(values, "links_per_second"), 4 * value_named(values, "tokens_per_second"),
              1e-6);
}

TEST(Progress, SaysThatThereIsNoNumberWithoutASign) {
  StepResult result;
  result.loss = -std::nan("");
  result.grad_norm = HUGE_VAL;
  Progress progress(0, 10, 0);
  progress.step_done(1, result);
  const std::string line = progress.line(result, 1e-3);
  EXPECT_NE(line.find("loss nan  grad_norm inf  lr 1.00e-03"), std::string::npos) << line;
}

}  // namespace
}  // namespace skein::train
