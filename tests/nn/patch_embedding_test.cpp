// Patches of pictures as hidden states.
#include "skein/nn/patch_embedding.h"

#include <cmath>
#include <gtest/gtest.h>

#include "skein/comm/local.h"

#include "support/expect_error.h"

namespace skein {
namespace {

// As MAE's get_2d_sincos_pos_embed makes them: the column's waves, then the row's.
TEST(PatchEmbedding, WavesSayColumnAndRow) {
  const std::vector<double> waves = grid_waves(2, 3, 8, true);
  ASSERT_EQ(waves.size(), 7u * 8);
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(waves[i], 0) << "of the class token";
  const double* at = waves.data() + (1 + 1 * 3 + 2) * 8;  // row 1, column 2
  const double wanted[] = {std::sin(2), std::sin(0.02), std::cos(2), std::cos(0.02),
                           std::sin(1), std::sin(0.01), std::cos(1), std::cos(0.01)};
  for (int64_t i = 0; i < 8; ++i) EXPECT_NEAR(at[i], wanted[i], 1e-14) << i;
  EXPECT_EQ(grid_waves(2, 3, 8, false).size(), 6u * 8);
}

TEST(PatchEmbedding, NeedsPictures) {
  const auto alone = single_rank();
  Parameters parameters(DType::f32, 0, 1);
  const PatchEmbedding embedding(parameters, {.rows = 2, .columns = 2, .numbers = 4, .width = 8},
                                 0);
  parameters.allocate(false);
  parameters.initialize(1);
  data::Batch batch;
  batch.tokens = batch.positions = Tensor::zeros({1, 5}, DType::i32);
  Pass pass;
  pass.tp = alone.get();
  pass.batch = &batch;
  test::expect_error(ExitCode::usage, {"this model reads pictures, but was given texts"},
                     [&] { embedding(pass); });
  batch.features = Tensor::zeros({1, 4, 4}, DType::f32);
  EXPECT_EQ(embedding(pass).shape(), (Shape{1, 5, 8}));
}

// What is never learnt begins as it stays.
TEST(PatchEmbedding, WavesAreConstant) {
  Parameters parameters(DType::f32, 0, 1);
  const PatchEmbedding embedding(parameters,
                                 {.rows = 2,
                                  .columns = 2,
                                  .numbers = 4,
                                  .width = 8,
                                  .class_token = false,
                                  .positions = Positions::sinusoidal},
                                 0);
  parameters.allocate(true);
  parameters.initialize(1);
  const Parameter& positions = *parameters.find("embedding.positions.weight");
  EXPECT_TRUE(positions.constant);
  EXPECT_FALSE(positions.learns);
  EXPECT_FLOAT_EQ(positions.value.span<float>()[8], static_cast<float>(std::sin(1)));
}

}  // namespace
}  // namespace skein
