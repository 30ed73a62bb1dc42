// The formula of what blocks keep against what they keep.
#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/models/description.h"
#include "skein/models/gpt/gpt.h"
#include "skein/tensor/buffer.h"

#include "formulas.h"

namespace skein {
namespace {

// Bytes that a forward pass of the blocks leaves behind on all ranks of the group together.
double kept(ModelConfig config, DType dtype, int64_t rows, Group& tp, bool sequence) {
  Parameters parameters(dtype, tp.rank(), tp.size());
  const Gpt model(config, {0, static_cast<int>(config.n_layers), true, false, 0}, sequence,
                  parameters);
  parameters.allocate(true);
  parameters.initialize(1);
  data::Batch batch;
  batch.tokens = Tensor::zeros({rows, config.context}, DType::i32);
  batch.positions = Tensor::zeros({rows, config.context}, DType::i32);
  batch.sample_ids = Tensor::zeros({rows}, DType::i64);
  Pass pass;
  pass.tp = &tp;
  pass.sequence_parallel = sequence;
  pass.batch = &batch;
  pass.train = true;
  tp.barrier();
  const int64_t before = memory_use().live;
  tp.barrier();
  const Var flow = model.forward({}, pass);
  tp.barrier();
  const auto made = static_cast<double>(memory_use().live - before);
  tp.barrier();
  return made;
}

TEST(ActivationBytes, AreWhatTheBlocksKeep) {
  for (bool llama : {false, true})
    for (DType dtype : {DType::f32, DType::bf16}) {
      ModelConfig config;
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
      ModelConfig fewer = config;
      fewer.n_layers = 1;
      for (int tensor : {1, 2})
        for (bool sequence : {false, true}) {
          if (sequence && tensor == 1) continue;
          run_ranks(tensor, [&](Group& tp) {
            const double found =
                kept(config, dtype, 2, tp, sequence) - kept(fewer, dtype, 2, tp, sequence);
            const double wanted =
                test::activation_bytes_by_formula(config, {128, 4, dtype, tensor, sequence}) *
                tensor;
            EXPECT_NEAR(found / wanted, 1, 0.05)
                << llama << " " << name_of(dtype) << " " << tensor << " " << sequence;
          });
        }
    }
}

// What layers say that they keep.
TEST(ActivationBytes, OfFurtherNormsAndParallelBlocksAreToldToo) {
  ModelConfig config;
  config.vocab_size = 64;
  config.context = 64;
  config.d_model = 256;
  config.n_layers = 5;
  config.positions = Positions::rotary;
  for (const int kind : {0, 1, 2}) {
    config.qk_norm = kind == 1;
    config.parallel_blocks = kind == 0;
    config.norm_placement = kind == 2 ? NormPlacement::sandwich : NormPlacement::pre;
    ModelConfig fewer = config;
    fewer.n_layers = 1;
    for (int tensor : {1, 2})
      run_ranks(tensor, [&](Group& tp) {
        const auto told = [&](const ModelConfig& model) {
          Parameters described(DType::f32, tp.rank(), tp.size());
          describe(model, whole_piece(model), described);
          return kept_bytes(described, {.tokens = 128});
        };
        const double found = kept(config, DType::f32, 2, tp, false) -
                             kept(fewer, DType::f32, 2, tp, false),
                     wanted = (told(config) - told(fewer)) * tensor;
        EXPECT_NEAR(found / wanted, 1, 0.05) << kind << " " << tensor;
      });
  }
}

TEST(ActivationBytes, FollowTheFormulaAt16Bits) {
  ModelConfig config;
  config.d_model = 768;
  config.n_heads = 12;
  const double plain = test::activation_bytes_by_formula(config, {1, 1, DType::bf16});
  EXPECT_EQ(plain, 32.0 * 768);
  EXPECT_EQ(test::activation_bytes_by_formula(config, {1, 1, DType::bf16, 4, true}),
            (8.0 / 4 + 24.0 / 4) * 768);
  EXPECT_EQ(test::activation_bytes_by_formula(config, {1, 1, DType::bf16, 4, false}),
            (8 + 24.0 / 4) * 768);
  EXPECT_EQ(
      test::activation_bytes_by_formula(config, {1, 12, DType::bf16, 1, false, Recompute::full}),
      (12 * 2 + 32) * 768.0);
}

}  // namespace
}  // namespace skein
