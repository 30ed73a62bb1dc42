#include "skein/models/flops.h"

#include <gtest/gtest.h>

namespace skein {
namespace {

ModelConfig gpt(int64_t width, int64_t layers, int64_t heads, int64_t context) {
  ModelConfig c;
  c.vocab_size = 50257;
  c.context = context;
  c.d_model = width;
  c.n_layers = layers;
  c.n_heads = heads;
  return c;
}

TEST(Flops, OfGpt3AreSixTimesItsMatricesPlusAttention) {
  const ModelConfig c = gpt(12288, 96, 96, 2048);
  const double matrices = 96 * 12.0 * 12288 * 12288 + 12288.0 * 50257;
  const double attention = 6.0 * 96 * 12288 * 2048;
  EXPECT_DOUBLE_EQ(model_flops_per_token(c, 2048), 6 * matrices + attention);
  EXPECT_DOUBLE_EQ(model_flops_per_token(c, 2048, AttentionCount::full),
                   6 * matrices + 2 * attention);
  EXPECT_NEAR(model_flops_per_token(c, 2048) / (6 * 175e9), 1, 0.02);
}

TEST(Flops, OfGpt2AreThoseOfItsMatricesAndHalfItsScores) {
  const double blocks = 84'934'656, head = 38'597'376, scores = 6 * 12 * 768 * 1024;
  EXPECT_DOUBLE_EQ(model_flops_per_token(gpt(768, 12, 12, 1024), 1024),
                   6 * (blocks + head) + scores);
}

TEST(Flops, CountGroupedQueriesAndGates) {
  ModelConfig c = gpt(64, 2, 4, 32);
  c.n_kv_heads = 2;
  c.d_ff = 100;
  c.activation = MlpKind::swiglu;
  const double block = 64.0 * (64 + 2 * 32) + 64 * 64 + 3 * 64 * 100;
  EXPECT_DOUBLE_EQ(model_flops_per_token(c, 32), 6 * (2 * block + 64 * 50257) + 6.0 * 2 * 64 * 32);
}

}  // namespace
}  // namespace skein
