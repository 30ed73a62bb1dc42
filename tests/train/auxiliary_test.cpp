// Samples that learn beside the batch of a step.
#include <gtest/gtest.h>

#include "skein/models/terms.h"
#include "skein/train/replica.h"

#include "train/train_fixture.h"

namespace skein::train {
namespace {

ModelConfig small_decoder() {
  ModelConfig model;
  model.vocab_size = 64;
  model.context = 16;
  model.d_model = 32;
  model.n_layers = 2;
  model.n_heads = 4;
  return model;
}

// Rows [first, first + count) of always the same samples.
data::Batch rows(int64_t first, int64_t count) {
  return batch_rows(some_batch(16, small_decoder()), first, first + count);
}

// The first step of a fresh model: `batch`, with `auxiliary` where there is one.
StepResult first_step(int64_t batch_size, const data::Batch& batch,
                      const AuxiliaryBatch* auxiliary = nullptr) {
  PretrainConfig c;
  c.model = small_decoder();
  c.parallel.reduction_groups = 4;
  const auto alone = single_rank();
  const MeshShape shape = mesh_shape(c.parallel, 1);
  Mesh mesh(*alone, shape);
  Learning learning;
  if (auxiliary)
    learning.auxiliary = [](const LocalModel& model) {
      return std::make_unique<TokenTerm>(*model.predictor());
    };
  Replica replica(
      c, plan_batch(c.parallel, shape, batch_size, 1), mesh, learning,
      auxiliary ? plan_batch(c.parallel, shape, auxiliary->batch.size(), 1) : BatchPlan{});
  return replica.step(batch, 0, 1e-3, 1, auxiliary);
}

TEST(AuxiliaryBatches, TheSameSamplesDoubleTheGradient) {
  const StepResult alone = first_step(8, rows(0, 8));
  const AuxiliaryBatch same{rows(0, 8), 1};
  const StepResult both = first_step(8, rows(0, 8), &same);
  EXPECT_EQ(both.terms, alone.terms);
  EXPECT_EQ(both.auxiliary, alone.loss);
  EXPECT_EQ(both.loss, 2 * alone.loss);
  EXPECT_EQ(both.grad_norm, 2 * alone.grad_norm) << "to the bit";
  EXPECT_GT(alone.flops, 0);
  EXPECT_EQ(both.flops, 2 * alone.flops);
}

// Each of both means is over its own places.
TEST(AuxiliaryBatches, MeansAreAddedByTheirCoefficient) {
  const StepResult whole = first_step(16, rows(0, 16)), half = first_step(12, rows(0, 12)),
                   other = first_step(4, rows(12, 4));
  const AuxiliaryBatch rest{rows(12, 4), 1.0 / 3};
  const StepResult both = first_step(12, rows(0, 12), &rest);
  EXPECT_NEAR(both.loss, half.loss + other.loss / 3, 1e-9);
  EXPECT_NEAR(both.loss, whole.loss * 16 / 12, 1e-6);
  EXPECT_NEAR(both.grad_norm, whole.grad_norm * 16 / 12, 1e-5);
  EXPECT_EQ(both.auxiliary, other.loss);
}

}  // namespace
}  // namespace skein::train
