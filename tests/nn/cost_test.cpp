// What described layers say they hold, keep and compute, against numbers worked out by hand.
#include "skein/nn/cost.h"

#include "nn/small_blocks.h"

namespace skein {
namespace {

using test::Family;

// Of small_block(): width 16, four heads of 4, feed-forward 24.
constexpr double kProjections = 4 * 16 * 16, kMlp = 2 * 16 * 24;

struct Described {
  Parameters parameters;

  explicit Described(const std::vector<BlockSpec>& blocks, int shards = 1)
      : parameters(DType::bf16, 0, shards) {
    Stack(parameters, 4, 0, blocks);
  }
};

TEST(DescribedBlocks, NeedNoMemory) {
  const Described made(test::small_blocks(Family::gpt2));
  for (const Parameter& p : made.parameters.all()) EXPECT_FALSE(p.value.defined()) << p.name;
}

TEST(DescribedBlocks, CountTheirNumbers) {
  const Described made(test::small_blocks(Family::gpt2));
  const int64_t norms = 4 * 16, biases = 4 * 16 + 24 + 16;
  EXPECT_EQ(learned_numbers(made.parameters), 2 * (4 * 16 * 16 + 2 * 16 * 24 + norms + biases));
  EXPECT_EQ(learned_numbers(made.parameters,
                            [](const Parameter& p) { return p.part.block_number == 5; }) *
                2,
            learned_numbers(made.parameters));
  EXPECT_EQ(learned_numbers(made.parameters,
                            [](const Parameter& p) { return p.meets == RowKind::tokens; }),
            2 * (4 * 16 * 16 + 2 * 16 * 24));
}

TEST(DescribedBlocks, CountTiedTensorsOnceButTheirProductsEachTime) {
  Parameters parameters(DType::f32, 0, 1);
  parameters.add({.name = "table", .shape = {5, 3}, .meets = RowKind::looked_up});
  parameters.add({.name = "head", .shape = {5, 3}, .tied_to = "table", .meets = RowKind::places});
  EXPECT_EQ(learned_numbers(parameters), 15);
  EXPECT_EQ(flops_per_token(parameters, 7, {.places = 0.5}),
            (std::map<int, double>{{-1, 6 * 15 * 0.5}}));
}

TEST(DescribedBlocks, CountWhatEachRowMeets) {
  Parameters parameters(DType::f32, 0, 1);
  const Linear dense(parameters, {.name = "dense", .inputs = 3, .outputs = 4}),
      pooler(parameters, {.name = "pooler", .inputs = 3, .outputs = 5, .meets = RowKind::samples}),
      head(parameters, {.name = "head", .inputs = 3, .outputs = 7, .meets = RowKind::places});
  EXPECT_EQ(flops_per_token(parameters, 8)[-1], 6 * (12 + 21));
  EXPECT_EQ(flops_per_token(parameters, 8, {.places = 0.25, .samples = 0.125})[-1],
            6 * (12 + 21 * 0.25 + 15 * 0.125));
}

TEST(DescribedBlocks, CountHalfOrAllScoresOfCausalAttention) {
  const Described made(test::small_blocks(Family::gpt2));
  const double products = 6 * (kProjections + kMlp), scores = 12 * 16 * 10;
  EXPECT_EQ(flops_per_token(made.parameters, 10),
            (std::map<int, double>{{4, products + scores / 2}, {5, products + scores / 2}}));
  EXPECT_EQ(flops_per_token(made.parameters, 10, {}, 1)[4], products + scores);
}

TEST(DescribedBlocks, OfADecoderMeetTokensOfBothSides) {
  const Described made(test::small_blocks(Family::decoder));
  const double own = 6 * (kProjections + kMlp) + 6 * 16 * 10;
  // Queries and results of the second attention meet the tokens, keys and values the source's.
  const double length = 10, source = 2.5, seen = source * length;
  EXPECT_EQ(flops_per_token(made.parameters, 10, {.source_tokens = source})[5],
            own + 6 * (2 * 16 * 16 + 2 * 16 * 16 * source) + 12 * 16 * seen);
}

TEST(DescribedBlocks, KeepStreamsAndWhatTheirBranchesMake) {
  const Described gpt(test::small_blocks(Family::gpt2)), half(test::small_blocks(Family::gpt2), 2),
      llama(test::small_blocks(Family::llama));
  const double stream = 4 * 16, branches = 4 * 16 + 2 * 24;
  EXPECT_EQ(kept_bytes(gpt.parameters, {.tokens = 3}), 2 * 3 * 2 * (stream + branches));
  EXPECT_EQ(kept_bytes(half.parameters, {.tokens = 3}), 2 * 3 * 2 * (stream + branches / 2));
  EXPECT_EQ(kept_bytes(half.parameters, {.tokens = 3, .sequence = true}),
            2 * 3 * 2 * (stream + branches) / 2);
  // Eight heads of 2 over four of keys, and a gate.
  EXPECT_EQ(kept_bytes(llama.parameters, {.tokens = 3}),
            2 * 3 * 2 * (stream + 2 * 16 + 2 * 8 + 3 * 24.0));
}

TEST(DescribedBlocks, KeepInputsAndOneBlockWhereTheyAreRecomputed) {
  std::vector<BlockSpec> blocks = test::small_blocks(Family::gpt2);
  std::get<MlpSpec>(blocks[1].sublayers[1].branch).hidden = 40;
  const Described made(blocks);
  const double largest = 4 * 16 + 4 * 16 + 2 * 40;
  EXPECT_EQ(kept_bytes(made.parameters, {.tokens = 3, .recompute = Recompute::full}),
            2 * 3 * (2 * 16 + largest));
  EXPECT_EQ(kept_bytes(made.parameters, {.tokens = 3, .recompute = Recompute::selective}),
            2 * 3 * (4 * 16 + largest));
}

TEST(DescribedBlocks, OfADecoderKeepKeysOfTheSource) {
  const Described made(test::small_blocks(Family::decoder));
  const double own = 6 * 16 + 4 * 16 + 2 * 24;
  EXPECT_EQ(kept_bytes(made.parameters, {.tokens = 3, .source_tokens = 2}),
            2 * 3 * 2 * (own + 2 * 16 + 2 * 16 * 2.0));
}

}  // namespace
}  // namespace skein
