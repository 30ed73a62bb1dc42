#include "skein/scaling/study/critical_batch.h"

#include <cmath>
#include <gtest/gtest.h>

namespace skein::scaling::study {
namespace {

// Runs of one model whose loss falls as the tokens that a batch of nothing would have needed.
ScalingTable table_of(std::initializer_list<double> batches, double critical) {
  ScalingTable table;
  for (const double batch : batches) {
    ScalingRun run;
    run.name = std::to_string(batch);
    run.n_params = 1e6;
    run.global_batch = batch;
    for (int i = 0; i < 200; ++i) {
      const double least = 1e6 * std::pow(1000.0, i / 199.0);
      run.curve.push_back({least * (1 + batch / critical), 20 * std::pow(least, -0.1)});
    }
    run.tokens = run.curve.back().tokens;
    run.loss = run.curve.back().loss;
    table.runs.push_back(run);
  }
  return table;
}

TEST(CriticalBatch, IsWhereTokensDouble) {
  const CriticalBatchFit fit = fit_critical_batch(table_of({1e4, 4e4, 1.6e5, 6.4e5}, 1e5));
  ASSERT_TRUE(fit.valid()) << fit.problem;
  ASSERT_GE(fit.points.size(), 6u);
  for (const CriticalBatchPoint& point : fit.points) {
    EXPECT_NEAR(point.batch / 1e5, 1, 1e-3);
    EXPECT_NEAR(point.least_tokens / std::pow(20 / point.loss, 10), 1, 1e-3);
    EXPECT_EQ(point.batches, 4);
  }
  EXPECT_NEAR(fit.of_loss.exponent, 0, 1e-2);
}

TEST(CriticalBatch, NeedsThreeBatchSizesThatMatter) {
  EXPECT_NE(fit_critical_batch(table_of({1e4, 4e4}, 1e5)).problem.find("3 or more batch sizes"),
            std::string::npos);
  EXPECT_NE(fit_critical_batch(table_of({1e4, 4e4, 1.6e5}, -1e7)).problem.find("do not grow"),
            std::string::npos);
  ScalingTable table = table_of({1e4, 4e4, 1.6e5}, 1e5);
  table.runs[0].status = "diverged";
  EXPECT_FALSE(fit_critical_batch(table).valid());
  table.runs[0].status = "outclassed";
  EXPECT_TRUE(fit_critical_batch(table).valid());
}

}  // namespace
}  // namespace skein::scaling::study
