// The formula of what blocks keep against what they keep.
#include "skein/models/memory.h"

#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/tensor/buffer.h"

namespace skein {
namespace {

// Bytes that a forward pass of 4 blocks leaves behind, beyond those of none.
double kept(GptConfig config, DType dtype, int64_t rows) {
  const auto alone = single_rank();
  Parameters parameters(dtype, 0, 1);
  const Gpt model(config, {0, static_cast<int>(config.n_layers), true, false, 0}, false, parameters);
  parameters.allocate(true);
  parameters.initialize(1);
  Batch batch;
  batch.tokens = Tensor::zeros({rows, config.context}, DType::i32);
  batch.positions = Tensor::zeros({rows, config.context}, DType::i32);
  batch.sample_ids = Tensor::zeros({rows}, DType::i64);
  Pass pass;
  pass.tp = alone.get();
  pass.batch = &batch;
  pass.train = true;
  const int64_t before = memory_use().live;
  const Var flow = model.forward({}, pass);
  return static_cast<double>(memory_use().live - before);
}

TEST(ActivationBytes, AreWhatTheBlocksKeep) {
  for (bool llama : {false, true})
    for (DType dtype : {DType::f32, DType::bf16}) {
      GptConfig config;
      config.vocab_size = 64;
      config.context = 64;
      config.d_model = 256;
      config.n_heads = 4;
      config.n_layers = 5;
      if (llama) {
        config.activation = MlpKind::swiglu;
        config.norm = ops::Norm::rms;
        config.positions = Positions::rotary;
        config.n_kv_heads = 2;
        config.d_ff = 640;
      }
      GptConfig fewer = config;
      fewer.n_layers = 1;
      const double found = kept(config, dtype, 2) - kept(fewer, dtype, 2);
      const double wanted = activation_bytes(config, {128, 4, dtype});
      EXPECT_NEAR(found / wanted, 1, 0.05) << llama << " " << name_of(dtype);
    }
}

TEST(ActivationBytes, FollowTheFormulaAt16Bits) {
  GptConfig config;
  config.d_model = 768;
  config.n_heads = 12;
  const double plain = activation_bytes(config, {1, 1, DType::bf16});
  EXPECT_EQ(plain, 32.0 * 768);
  EXPECT_EQ(activation_bytes(config, {1, 1, DType::bf16, 4, true}), (4 + 4.0 / 4 + 24.0 / 4) * 768);
  EXPECT_EQ(activation_bytes(config, {1, 1, DType::bf16, 4, false}), (8 + 24.0 / 4) * 768);
  EXPECT_EQ(activation_bytes(config, {1, 12, DType::bf16, 1, false, Recompute::full}), (12 * 2 + 32) * 768.0);
}

}  // namespace
}  // namespace skein
