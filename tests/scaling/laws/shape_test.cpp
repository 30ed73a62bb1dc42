#include "skein/scaling/laws/shape.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <tuple>
#include <vector>

#include "skein/core/error.h"
#include "skein/models/flops.h"
#include "skein/models/gpt/gpt.h"

namespace skein::scaling {
namespace {

ModelConfig base_model() {
  ModelConfig model;
  model.vocab_size = 65;
  model.context = 32;
  return model;
}

TEST(Shape, LadderOfSmallModelsComesOut) {
  ModelConfig model = base_model();
  model.bias = false;
  model.norm = ops::Norm::rms;
  const ShapeRule rule{8, 16, 1, 128};
  for (const auto& [wanted, layers, width] :
       std::vector<std::tuple<double, int64_t, int64_t>>{{784, 1, 8},
                                                         {3104, 1, 16},
                                                         {6208, 2, 16},
                                                         {24704, 2, 32},
                                                         {83100, 3, 48},
                                                         {197120, 4, 64}}) {
    const ModelConfig made = shape_for(wanted, model, rule);
    EXPECT_EQ(made.n_layers, layers) << wanted;
    EXPECT_EQ(made.d_model, width) << wanted;
    EXPECT_EQ(made.n_heads, width / 8);
  }
}

TEST(Shape, LargeModelsKeepTheAspectAndComeNear) {
  for (double wanted : {1e6, 1e8, 1e9, 1e10}) {
    const ModelConfig made = shape_for(wanted, base_model(), {});
    const double off = std::abs(std::log(counts_of(made).blocks / wanted)),
                 aspect = static_cast<double>(made.d_model) / static_cast<double>(made.n_layers);
    EXPECT_LT(off, 0.1) << wanted;
    EXPECT_LT(std::abs(std::log(aspect / 64)), 1.0) << wanted;
  }
}

TEST(Shape, ProportionsOfTheBaseStay) {
  ModelConfig model = base_model();
  model.d_model = 256;
  model.d_ff = 688;
  model.n_heads = 8;
  model.n_kv_heads = 2;
  const ModelConfig made = with_shape(model, 6, 512, 32);
  EXPECT_EQ(made.d_ff, 1376);
  EXPECT_EQ(made.n_heads, 16);
  EXPECT_EQ(made.n_kv_heads, 4);
  EXPECT_EQ(with_shape(model, 1, 96, 32).n_kv_heads, 1);
}

// As eight ranks can divide them: heads, key heads.
TEST(Shape, KeyHeadsDivideTheHeadsAndAreDividedWithThem) {
  ModelConfig model = base_model();
  const auto key_heads = [&](int64_t heads, int64_t base_heads, int64_t base_key_heads) {
    model.n_heads = base_heads;
    model.n_kv_heads = base_key_heads;
    return with_shape(model, 2, heads * 16, 16, 8).kv_heads();
  };
  const std::vector<std::tuple<int64_t, int64_t>> eighth{{8, 1},   {24, 4},  {32, 4},   {40, 8},
                                                         {48, 8},  {56, 8},  {64, 8},   {72, 8},
                                                         {96, 16}, {104, 8}, {128, 16}, {136, 8}};
  for (const auto& [heads, wanted] : eighth) EXPECT_EQ(key_heads(heads, 64, 8), wanted) << heads;
  for (int64_t heads = 8; heads <= 256; heads += 8) {
    for (const int64_t share : {1, 2, 4, 8, 16, 32}) {
      const int64_t made = key_heads(heads, 32, share);
      EXPECT_EQ(heads % made, 0) << heads << " " << share;
      EXPECT_EQ(made % 8 == 0, heads * share > 4 * 32) << heads << " at " << share << ": " << made;
    }
  }
  EXPECT_EQ(key_heads(72, 72, 9), 9) << "as they were given";
  EXPECT_EQ(key_heads(9, 64, 32), 3) << "an odd number of heads";
  EXPECT_EQ(with_shape(model, 2, 72 * 16, 16).kv_heads(), 36) << "sweeps keep the proportion";
  const ModelConfig made = shape_for(1e10, base_model(), {128, 100, 1, 160, 8});
  EXPECT_EQ(made.n_heads % 8, 0);
}

TEST(Shape, WhatCannotBeIsRefused) {
  EXPECT_NE(refusal_of([] { shape_for(1000, base_model(), {}); }).find("the nearest, 1 x 64"),
            std::string::npos);
  EXPECT_NE(refusal_of([] {
              shape_for(1e9, base_model(), {64, 64, 200, 2});
            }).find("sweep.most_layers"),
            std::string::npos);
  EXPECT_NE(
      refusal_of([] { shape_for(std::nan(""), base_model(), {}); }).find("nan block parameters"),
      std::string::npos);
  EXPECT_NE(refusal_of([] { with_shape(base_model(), 1, 100, 64); }).find("width 100"),
            std::string::npos);
}

// What the layers really hold, by the names of their tensors.
ModelCounts counted(const ModelConfig& model) {
  Parameters parameters(DType::f32, 0, 1);
  ModelPiece whole;
  whole.last_block = static_cast<int>(model.n_layers);
  const Gpt gpt(model, whole, false, parameters);
  ModelCounts counts;
  for (const Parameter& parameter : parameters.all()) {
    const auto size = static_cast<double>(parameter.shape.size());
    if (parameter.name.starts_with("block.")) counts.blocks += size;
    if (parameter.name.starts_with("embedding.")) counts.embedding += size;
    if (parameter.name == "head.weight") counts.head += size;
    if (!parameter.tied()) counts.all += size;
  }
  return counts;
}

TEST(Shape, CountsAreTheTensorsSums) {
  ModelConfig llama = base_model();
  llama.positions = Positions::rotary;
  llama.norm = ops::Norm::rms;
  llama.activation = MlpKind::swiglu;
  llama.bias = llama.tie_embeddings = false;
  llama.n_kv_heads = 2;
  llama.d_ff = 680;
  for (const ModelConfig& base : {base_model(), llama}) {
    for (double wanted : {2e4, 3e5}) {
      const ModelConfig model = shape_for(wanted, base, {8, 16, 2, 64});
      const ModelCounts made = counts_of(model), real = counted(model);
      EXPECT_EQ(made.blocks, real.blocks);
      EXPECT_EQ(made.embedding, real.embedding);
      EXPECT_EQ(made.head, real.head);
      EXPECT_EQ(made.all, real.all);
      EXPECT_EQ(made.flops_per_token, model_flops_per_token(model, model.context));
    }
  }
}

TEST(Shape, FormulasGiveWhatTheyDid) {
  ModelCounts counts;
  counts.blocks = 1e8;
  counts.head = 8e6;
  counts.flops_per_token = 6e8;
  EXPECT_NEAR(hyperparameters("kaplan", counts, 1e9).lr, 0.003239 - 0.0001395 * 18.420680744, 1e-9);
  EXPECT_NEAR(hyperparameters("porian", counts, 1e9).lr, 0.0047, 1e-12);
  EXPECT_NEAR(hyperparameters("porian", counts, 1e9).batch_tokens, 327680, 1e-6);
  EXPECT_NEAR(hyperparameters("deepseek", counts, 1e9).lr,
              0.3118 * std::exp(-0.125 * std::log(6e17)), 1e-12);
  EXPECT_NEAR(hyperparameters("deepseek", counts, 1e9).batch_tokens,
              0.2920 * std::exp(0.3271 * std::log(6e17)), 1e-3);
  EXPECT_NEAR(hyperparameters("step_law", counts, 1e9).lr,
              1.79 * std::exp(-0.713 * std::log(1e8) + 0.307 * std::log(1e9)), 1e-12);
  EXPECT_NEAR(hyperparameters("step_law", counts, 1e9).batch_tokens,
              0.58 * std::exp(0.571 * std::log(1e9)), 1e-3);
  EXPECT_EQ(hyperparameters("kaplan", counts, 1e9).batch_tokens, 0);
  EXPECT_NE(refusal_of([&] { hyperparameters("cosine", counts, 1e9); }).find("step_law"),
            std::string::npos);
  counts.blocks = 1e11;
  EXPECT_NE(refusal_of([&] { hyperparameters("kaplan", counts, 1e9); }).find("another rule"),
            std::string::npos);
}

}  // namespace
}  // namespace skein::scaling
