// Weights of attention of whole models: what is told at every layout, and what is made of it.
#include "skein/train/attention/maps.h"

#include "skein/comm/local.h"
#include "skein/core/json.h"
#include "skein/kernels/attention_weights.h"
#include "skein/models/architecture.h"
#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"
#include "skein/parallel/local_model.h"
#include "skein/train/attention/pictures.h"

#include "models/two_sided_batch.h"
#include "text/begun_tokenizer.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

TrainedModel watched_model(const ModelConfig& config) {
  TrainedModel made{};
  made.info.path = "runs/small";
  made.info.step = 7;
  made.model = config;
  made.state.tokenizer =
      text::StoredTokenizer(std::shared_ptr<const text::Tokenizer>(text::byte_tokenizer()));
  return made;
}

ModelConfig small_model() {
  ModelConfig c;
  c.vocab_size = 257;
  c.context = 16;
  c.d_model = 32;
  c.n_layers = 4;
  c.n_heads = 4;
  c.init_std = 0.3;
  return c;
}

std::vector<AttentionMap> mapped(const ModelConfig& config, const std::string& text,
                                 const MeshShape& shape) {
  std::vector<AttentionMap> made;
  run_ranks(shape.ranks(), [&](Group& world) {
    ParallelConfig parallel;
    parallel.pipeline = shape.pp;
    parallel.data = shape.dp;
    parallel.tensor = shape.tp;
    parallel.sequence = shape.tp > 1;
    Mesh mesh(world, shape);
    LocalModel local(config, parallel, mesh, DType::f32);
    local.parameters().allocate(false);
    local.parameters().initialize(3);
    Pipeline pipeline(mesh, local.pipeline_model(), ScheduleKind::gpipe);
    const auto own =
        attention_maps(attended_text(watched_model(config), text), {pipeline, local.pass(), mesh});
    if (world.rank() == world.size() - 1) made = own;
  });
  return made;
}

std::vector<double> numbers(const AttentionMap& map) {
  const auto all = map.weights.span<double>();
  return {all.begin(), all.end()};
}

TEST(AttentionMaps, HaveEveryLayerAndHead) {
  const auto maps = mapped(small_model(), "a short text", {1, 1, 1});
  ASSERT_EQ(maps.size(), 4u);
  for (int block = 0; block < 4; ++block) {
    const AttentionMap& map = maps[static_cast<size_t>(block)];
    EXPECT_EQ(map.name(), fmt::format("block {}, self", block));
    ASSERT_EQ(map.weights.shape(), (Shape{4, 12, 12}));
    for (int64_t row = 0; row < 4 * 12; ++row) {
      double sum = 0;
      for (int64_t key = 0; key < 12; ++key) {
        const double weight = map.weights.data<double>()[row * 12 + key];
        EXPECT_TRUE(key <= row % 12 ? weight > 0 : weight == 0) << row << " " << key;
        sum += weight;
      }
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
}

TEST(AttentionMaps, AreTheSameAtEveryLayout) {
  ModelConfig config = small_model();
  for (const bool rotary : {false, true}) {
    if (rotary) config.positions = Positions::rotary;
    const auto expected = mapped(config, "a short text", {1, 1, 1});
    for (const MeshShape& shape : {MeshShape{4, 1, 1}, {2, 2, 1}, {1, 1, 2}, {2, 1, 4}}) {
      const auto found = mapped(config, "a short text", shape);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].name(), expected[i].name());
        EXPECT_TRUE(shape.tp > 1 || numbers(found[i]) == numbers(expected[i]));
        const auto left = numbers(found[i]), right = numbers(expected[i]);
        ASSERT_EQ(left.size(), right.size());
        for (size_t k = 0; k < left.size(); ++k) EXPECT_NEAR(left[k], right[k], 1e-5);
      }
    }
  }
}

TEST(AttentionMaps, OfAPromptThatIsReadBothWaysAreWhole) {
  ModelConfig config = small_model();
  config.architecture->read_prompts_both_ways(config);
  const auto maps = mapped(config, "prompt", {1, 1, 1});
  for (const AttentionMap& map : maps)
    for (double weight : numbers(map)) EXPECT_GT(weight, 0);
}

TEST(AttentionMaps, OfAnImportBeginTextsAsItsTokenizerAsks) {
  TrainedModel model = watched_model(small_model());
  model.state.tokenizer = test::begun_tokenizer();
  model.state.imported = R"({"source":"there"})";
  EXPECT_EQ(attended_text(model, "a b").tokens, (std::vector<std::string>{"<s>", " a", " b"}));
}

TEST(AttentionMaps, RefuseTextsThatTheModelCannotSee) {
  const TrainedModel model = watched_model(small_model());
  EXPECT_EQ(refusal_of([&] { attended_text(model, "seventeen letters"); }),
            "a text has 17 tokens, but the model sees at most 16 of one; shorten it");
  EXPECT_EQ(refusal_of([&] { attended_text(model, ""); }),
            "a text to attend to is empty; give one with at least one token");
  TrainedModel few = model;
  few.model.vocab_size = 100;
  EXPECT_EQ(refusal_of([&] { attended_text(few, "xyz"); }),
            "a text holds token 120, but the model knows 100 ids of one");
}

// Tokens that are their numbers, and weights that are all on the key `at` of each query.
AttentionMap pointing(bool memory, int64_t keys, const std::vector<int64_t>& at) {
  AttentionMap made{2, memory, Tensor::zeros({1, std::ssize(at), keys}, DType::f64)};
  for (int64_t query = 0; query < std::ssize(at); ++query)
    for (int64_t key = 0; key < keys; ++key)
      made.weights.data<double>()[query * keys + key] =
          key == at[static_cast<size_t>(query)] ? 0.5 : 0.5 / static_cast<double>(keys - 1);
  return made;
}

TEST(AttentionHabits, CountWhereTheLargestWeightsLie) {
  AttendedText text;
  text.tokens = {"a", "b", "c", "d", "e"};
  AttentionHabits habits;
  habits.add(text, {pointing(false, 5, {0, 0, 1, 2, 0})});
  const auto found = habits.habits();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].block, 2);
  EXPECT_EQ(found[0].distance, -1);
  EXPECT_DOUBLE_EQ(found[0].share, 0.6);
  EXPECT_EQ(found[0].queries, 5);
  EXPECT_NEAR(found[0].entropy, -0.5 * std::log(0.5) - 0.5 * std::log(0.125), 1e-12);
  EXPECT_EQ(habit_text(found[0]),
            "block 2, self, head 0: of 5 tokens 60.0% look most at the key -1 places from their "
            "own; entropy 1.39 nats");
}

TEST(AttendedPairs, TellWhatCanBeCopied) {
  TrainedModel model = watched_model(test::small_transformer());
  model.model.vocab_size = 257;
  model.model.context = transformer_options(model.model).source_context = 16;
  const text::Tokenizer& bytes = *model.state.tokenizer;
  const AttendedText made =
      attended_pair(model, bytes, data::pair_form(bytes, bytes), "abca", "bcd");
  EXPECT_EQ(made.next, (std::vector<std::string>{"b", "c", "d", "<|endoftext|>"}));
  EXPECT_EQ(made.source.back(), made.next.back());
  EXPECT_EQ(made.copied, (std::vector<bool>{true, true, false, false}));
}

// The last word is not in the source, and does not count.
TEST(AttentionHabits, AskOfASourceOnlyWhatCanBeCopied) {
  AttendedText text;
  text.source = {"the", "cat", "sat", "."};
  text.tokens = {"<pad>", "cat", "sat", "."};
  text.copied = {true, true, true, false};
  AttentionHabits habits;
  habits.add(text, {pointing(true, 4, {1, 2, 3, 0})});
  habits.add(text, {pointing(true, 4, {1, 2, 0, 0})});
  const auto found = habits.habits();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].distance, 1);
  EXPECT_EQ(found[0].queries, 6);
  EXPECT_NEAR(found[0].share, 5.0 / 6, 1e-12);
}

TEST(AttentionFiles, HoldTheNumbersAndAPictureOfEachLayer) {
  const test::Scratch folder;
  const TrainedModel model = watched_model(small_model());
  AttentionRecording one{{}, mapped(small_model(), "ab<", {1, 1, 1})};
  one.text = attended_text(model, "ab<");
  AttentionHabits habits;
  habits.add(one.text, one.maps);
  const auto files =
      write_attention("attend.output", folder.file("new/folder"), model, habits.habits(), {one});
  ASSERT_EQ(files.size(), 5u);
  EXPECT_EQ(files[1], folder.file("new/folder") + "/text-1-block-0-self.svg");
  const auto json = nlohmann::json::parse(read_text(files[0]));
  EXPECT_EQ(json["checkpoint"], "runs/small");
  EXPECT_EQ(json["heads"].size(), 16u);
  EXPECT_EQ(json["texts"][0]["tokens"], (std::vector<std::string>{"a", "b", "<"}));
  EXPECT_FALSE(json["texts"][0].contains("source"));
  const auto& layer = json["texts"][0]["layers"][3];
  EXPECT_EQ(layer["keys"], "self");
  EXPECT_EQ(layer["weights"][3][0], (std::vector<double>{1, 0, 0}));
  for (int64_t key = 0; key < 3; ++key)
    EXPECT_NEAR(layer["weights"][1][2][static_cast<size_t>(key)].get<double>(),
                one.maps[3].weights.data<double>()[(1 * 3 + 2) * 3 + key], 5.1e-7);
  const std::string picture = read_text(files[4]);
  EXPECT_NE(picture.find(">block 3, self</text>"), std::string::npos);
  EXPECT_NE(picture.find(">head 3</text>"), std::string::npos);
  EXPECT_NE(picture.find(">&lt;</text>"), std::string::npos);
}

}  // namespace
}  // namespace skein::train
