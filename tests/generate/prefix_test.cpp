// Decoding with a model that reads prompts in both directions.
#include <algorithm>

#include "skein/models/architecture.h"
#include "skein/models/gpt/gpt.h"

#include "generate/generator_fixture.h"

namespace skein::generate {
namespace {

ModelConfig prefix_model(bool rotary) {
  ModelConfig made = test::model(rotary);
  made.architecture->read_prompts_both_ways(made);
  return made;
}

// The likeliest next token after a sequence that begins with a prompt of so many tokens, without a
// cache.
int32_t next_without_cache(const Gpt& gpt, const Tokens& sequence, int32_t prompt, Group& alone) {
  const auto length = std::ssize(sequence);
  data::Batch batch;
  batch.tokens = Tensor::from(sequence, {1, length});
  batch.positions = Tensor::zeros({1, length}, DType::i32);
  for (int64_t i = 0; i < length; ++i) batch.positions.data<int32_t>()[i] = static_cast<int32_t>(i);
  if (prompt > 0) batch.prefix = Tensor::from(std::vector<int32_t>{prompt}, {1});
  Pass pass;
  pass.tp = &alone;
  pass.batch = &batch;
  const NoGrad no_grad;
  const Tensor logits = gpt.logits(gpt.forward({}, pass).only().value());
  const float* last = logits.data<float>() + (length - 1) * logits.dim(1);
  return static_cast<int32_t>(std::max_element(last, last + logits.dim(1)) - last);
}

// What greedy decoding says of all prompts; both_ways: of a prompt that is a prefix.
std::vector<Tokens> by_hand(const ModelConfig& config, bool both_ways) {
  const auto alone = single_rank();
  Parameters parameters(DType::f32, 0, 1);
  const Gpt gpt(config, {0, 4, true, true, 0}, false, parameters);
  parameters.allocate(false);
  parameters.initialize(3);
  std::vector<Tokens> made;
  for (const Tokens& prompt : test::kPrompts) {
    Tokens sequence = prompt.empty() ? Tokens{66} : prompt;
    const size_t begin = sequence.size();
    const int32_t prefix = both_ways ? static_cast<int32_t>(begin) : 0;
    while (sequence.size() - begin < 24) {
      const int32_t next = next_without_cache(gpt, sequence, prefix, *alone);
      if (next == 66) break;
      sequence.push_back(next);
    }
    made.emplace_back(sequence.begin() + static_cast<int64_t>(begin), sequence.end());
  }
  return made;
}

class PrefixGeneration : public testing::TestWithParam<bool> {};

TEST_P(PrefixGeneration, ReadsThePromptAsAForwardPassOverTheWholeDoes) {
  const ModelConfig config = prefix_model(GetParam());
  const auto expected = by_hand(config, true);
  for (const int64_t batch : {1, 3, 7}) {
    test::Layout greedy;
    greedy.temperature = 0;
    greedy.batch = batch;
    const auto found = test::generated(config, greedy);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(found[i].tokens, expected[i]) << batch << ", prompt " << i;
  }
  EXPECT_NE(by_hand(config, false), expected) << "the direction of the prompt changes nothing";
}

TEST_P(PrefixGeneration, GivesTheSameAtEveryLayout) {
  const ModelConfig config = prefix_model(GetParam());
  const auto expected = test::generated(config, {});
  for (const int pipeline : {2, 4}) {
    test::Layout layout;
    layout.pipeline = pipeline;
    layout.ranks = 4;
    layout.batch = 2;
    EXPECT_EQ(test::generated(config, layout), expected) << pipeline;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PrefixGeneration, testing::Bool());

}  // namespace
}  // namespace skein::generate
