// What described models say they hold, keep and compute, against the formulas: the same numbers.
#include "skein/nn/cost.h"

#include <gtest/gtest.h>

#include "skein/models/bert/bert.h"
#include "skein/models/description.h"
#include "skein/models/flops.h"
#include "skein/models/gpt/gpt.h"

#include "formulas.h"

namespace skein {
namespace {

ModelConfig gpt2() {
  ModelConfig c;
  c.vocab_size = 50257;
  c.context = 1024;
  c.d_model = 768;
  c.n_layers = 12;
  c.n_heads = 12;
  return c;
}

ModelConfig llama() {
  ModelConfig c;
  c.vocab_size = 128256;
  c.context = 8192;
  c.d_model = 4096;
  c.n_layers = 32;
  c.n_heads = 32;
  c.n_kv_heads = 8;
  c.d_ff = 14336;
  c.norm = ops::Norm::rms;
  c.activation = MlpKind::swiglu;
  c.positions = Positions::rotary;
  c.bias = false;
  c.tie_embeddings = false;
  return c;
}

ModelConfig bert() {
  ModelConfig c = gpt2();
  c.architecture = &bert_architecture();
  c.vocab_size = 30522;
  c.context = 512;
  c.norm_placement = NormPlacement::post;
  c.activation = MlpKind::gelu_erf;
  c.embedding_norm = true;
  c.token_types = 2;
  bert_options(c).pooler = true;
  return c;
}

// Of each kind, and with the options that add or leave out tensors and products.
std::vector<ModelConfig> configs() {
  std::vector<ModelConfig> all{gpt2(), llama(), bert()};
  all.push_back(gpt2());
  all.back().tie_embeddings = false, all.back().d_head = 96, all.back().n_kv_heads = 4;
  all.push_back(gpt2());
  all.back().norm_placement = NormPlacement::post, all.back().bias = false;
  all.back().attention_bias = true, all.back().embedding_norm = true;
  all.push_back(llama());
  all.back().tie_embeddings = true, all.back().bias = true, all.back().n_kv_heads = 0;
  all.push_back(bert());
  all.back().tie_embeddings = false, bert_options(all.back()).pooler = false,
  all.back().position_offset = 2;
  return all;
}

// The same with heads of labels, and of values.
std::vector<ModelConfig> other_heads() {
  std::vector<ModelConfig> all{gpt2(), gpt2(), bert(), bert()};
  all[0].own.get<GptOptions>().value_head = true;
  all[1].head = Head::sequence, all[1].labels = 3;
  all[2].head = Head::sequence, all[2].labels = 3;
  all[3].head = Head::token, all[3].labels = 9;
  return all;
}

struct Described {
  Parameters parameters;

  explicit Described(const ModelConfig& c, DType dtype = DType::f32, int shards = 1)
      : parameters(dtype, 0, shards) {
    describe(c, whole_piece(c), parameters);
  }

  int64_t numbers(const std::function<bool(const Parameter&)>& counted) const {
    return learned_numbers(parameters, counted);
  }
};

std::string name_of(const ModelConfig& c) {
  return fmt::format("architecture {}, {} layers, width {}, head {}, {} ids",
                     c.architecture->name(), c.n_layers, c.d_model, static_cast<int>(c.head),
                     c.vocab_size);
}

// Of all blocks, by the formula of the whole.
int64_t block_numbers(const ModelConfig& model) {
  ModelConfig one = model, two = model;
  one.n_layers = 1;
  two.n_layers = 2;
  return (test::parameters_by_formula(two) - test::parameters_by_formula(one)) * model.n_layers;
}

int64_t table_numbers(const ModelConfig& c) {
  const int64_t learned = c.positions == Positions::learned ? c.context + c.position_offset : 0;
  return (c.vocab_size + c.token_types + learned) * c.d_model;
}

TEST(DescribedModels, HoldTheNumbersOfTheFormulas) {
  std::vector<ModelConfig> all = configs();
  for (const ModelConfig& c : other_heads()) all.push_back(c);
  for (const ModelConfig& c : all) {
    SCOPED_TRACE(name_of(c));
    const Described model(c);
    EXPECT_EQ(learned_numbers(model.parameters), test::parameters_by_formula(c));
    EXPECT_EQ(model.numbers([](const Parameter& p) { return p.part.block_number >= 0; }),
              block_numbers(c));
    EXPECT_EQ(model.numbers([](const Parameter& p) { return p.meets == RowKind::looked_up; }),
              table_numbers(c));
  }
}

TEST(DescribedModels, ComputeTheFlopsOfTheFormulas) {
  for (const ModelConfig& c : configs())
    for (int64_t length : {c.context, int64_t{100}})
      for (AttentionCount count : {AttentionCount::half, AttentionCount::full}) {
        SCOPED_TRACE(name_of(c));
        const bool encoder = c.architecture == &bert_architecture();
        const Described model(c);
        const auto flops = flops_per_token(model.parameters, length, {.places = encoder ? 0.15 : 1},
                                           count == AttentionCount::half ? 0.5 : 1);
        ASSERT_EQ(flops.size(), static_cast<size_t>(1 + c.n_layers));
        double total = 0;
        for (const auto& [block, own] : flops) {
          total += own;
          if (block >= 0) {
            EXPECT_EQ(own, test::block_flops_by_formula(c, length, count)) << block;
          }
        }
        EXPECT_DOUBLE_EQ(flops.at(-1), test::head_flops_by_formula(c))
            << "15% of an encoder's round";
        EXPECT_DOUBLE_EQ(total, test::model_flops_by_formula(c, length, count));
        if (!encoder) {
          EXPECT_EQ(total, test::model_flops_by_formula(c, length, count));
        }
      }
}

// Heads of labels and values are no part of the formulas: small, and of few rows.
TEST(DescribedModels, ComputeTheFlopsOfTheirBlocksUnderAnyHead) {
  for (const ModelConfig& c : other_heads()) {
    SCOPED_TRACE(name_of(c));
    const Described model(c);
    const auto flops = flops_per_token(model.parameters, c.context, {.places = 0});
    EXPECT_EQ(flops.at(-1), 0);
    EXPECT_EQ(flops.at(3), test::block_flops_by_formula(c, c.context));
  }
}

TEST(DescribedModels, KeepTheBytesOfTheFormula) {
  for (const ModelConfig& c : configs())
    for (DType dtype : {DType::f32, DType::bf16})
      for (int tensor : {1, 2, 4}) {
        SCOPED_TRACE(name_of(c));
        const Described model(c, dtype, tensor);
        for (bool sequence : {false, true})
          for (Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
            EXPECT_EQ(kept_bytes(model.parameters, {2048, 0, sequence, recompute}),
                      test::activation_bytes_by_formula(
                          c, {2048, c.n_layers, dtype, tensor, sequence, recompute}));
      }
}

}  // namespace
}  // namespace skein
