// What reward models read of preferences: long prompts, empty answers, notes.
#include "skein/rlhf/rewards/reward_model_source.h"

#include "rlhf/reward_pairs.h"
#include "support/expect_error.h"

namespace skein::rlhf::rewards {
namespace {

using Json = nlohmann::json;

TEST_F(RewardTasks, LongPromptsLoseTheirBeginningOrAreLeftOut) {
  RewardConfig c = small_reward();
  std::ofstream(folder_.file("long.jsonl"))
      << Json{{"prompt", std::string(60, 'p')}, {"chosen", "a"}, {"rejected", "bbb"}}.dump() << "\n"
      << Json{{"prompt", "p"}, {"chosen", "a"}, {"rejected", "b"}}.dump() << "\n"
      << Json{{"prompt", "p"}, {"chosen", std::string(60, 'a')}, {"rejected", "b"}}.dump() << "\n";
  c.run.data.train = {folder_.file("long.jsonl")};
  const auto samples = [&] {
    RewardConfig own = c;
    return RewardTask(own, text::byte_tokenizer(), {}).samples().all();
  };
  auto all = samples();
  ASSERT_EQ(all.size(), 2u) << "an answer is never cut";
  EXPECT_EQ(all[0].sequences[0].tokens.size(), 22u);
  EXPECT_EQ(all[0].sequences[1].tokens.size(), 24u);
  EXPECT_EQ(all[0].sequences[1].tokens.back(), 256) << "what ends the answer stays";
  EXPECT_EQ(all[0].sequences[0].places[0], 21);
  c.task.long_prompts = LongPrompts::drop;
  EXPECT_EQ(samples().size(), 1u);
  c.task.length = 2;
  test::expect_error(ExitCode::usage, {"all training prompts", "reward.length"}, samples);
}

// An encoder's tokenizer whose pairs end with the second text, or with [SEP].
std::string pair_tokenizer(bool closed) {
  const auto special = [](const char* token) {
    return Json{{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
  };
  const auto text = [](const char* name) {
    return Json{{"Sequence", {{"id", name}, {"type_id", 0}}}};
  };
  Json pair{special("[CLS]"), text("A"), special("[SEP]"), text("B")}, json = Json::parse(R"({
    "added_tokens": [{"id": 0, "content": "[UNK]", "special": true}, {"id": 1, "content": "[CLS]", "special": true}, {"id": 2, "content": "[SEP]", "special": true}],
    "normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece"},
    "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "ask": 3, "a": 4}}})");
  if (closed) pair.push_back(special("[SEP]"));
  json["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {special("[CLS]"), text("A"), special("[SEP]")}},
      {"pair", pair},
      {"special_tokens", Json::parse(R"({"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]},
                                                               "[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]}})")}};
  return json.dump();
}

TEST_F(RewardTasks, ReadEmptyAnswersAtTheirEnd) {
  std::ofstream(folder_.file("empty.jsonl"))
      << R"({"prompt":"ask","chosen":"a","rejected":""})" << '\n';
  const auto rejected = [&](RewardConfig c, std::unique_ptr<text::Tokenizer> tokenizer) {
    c.run.data.train = {folder_.file("empty.jsonl")};
    return RewardTask(c, std::move(tokenizer), {}).samples().all().at(0).sequences.at(1);
  };
  testing::internal::CaptureStderr();
  const data::FormedSample decoder = rejected(small_reward(), text::byte_tokenizer());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(decoder.tokens, (std::vector<int32_t>{'a', 's', 'k', 256}));
  EXPECT_EQ(decoder.places, std::vector<int32_t>{3});
  EXPECT_NE(said.find("training answers that are empty or white space: 1;"), std::string::npos)
      << said;
  const data::FormedSample encoder =
      rejected(small_reward(true), text::tokenizer_from_json(pair_tokenizer(true)));
  EXPECT_EQ(encoder.tokens, (std::vector<int32_t>{1, 3, 2, 2}));
  EXPECT_EQ(encoder.places, std::vector<int32_t>{0});
  const auto refuse = [&] {
    rejected(small_reward(true), text::tokenizer_from_json(pair_tokenizer(false)));
  };
  test::expect_error(
      ExitCode::usage,
      {"empty.jsonl:1", "an answer is empty", "post_processor", "[SEP]", "data.bad_records=N"},
      refuse);
  RewardConfig c = small_reward();
  c.run.data.train = {folder_.file("empty.jsonl"), write_pairs(folder_.file("train.jsonl"), 15, 1)};
  c.run.train.steps = 2;
  const Trained trained = train_reward(c, folder_);
  EXPECT_EQ(trained.losses.size(), 2u);
  for (const double loss : trained.losses) EXPECT_TRUE(std::isfinite(loss));
}

TEST(RewardNotes, KeepAllOfThem) {
  const RewardHead head{text::StoredTemplate(R"({"name":"mine"})"), 77, -3.25, 0.1, {0.5, 0.25},
                        {{"reward.long_prompts", "drop"}}};
  const train::TaskNotes notes = to_notes(head, 4'000'000'000u);
  const auto back = reward_head(notes, "here");
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(to_notes(*back, reward_checksum(notes)).text(), notes.text());
  EXPECT_EQ(reward_head({}, "here"), nullptr);
  EXPECT_EQ(reward_head(train::TaskNotes(R"({"task":"labels"})"), "here"), nullptr);
  test::expect_error(ExitCode::usage, {"here are damaged"},
                     [] { reward_head(train::TaskNotes(R"({"task":"reward"})"), "here"); });
  test::expect_error(ExitCode::usage, {"here are damaged"}, [] {
    reward_head(
        train::TaskNotes(
            R"({"task":"reward","length":4,"mean":0,"deviation":0,"margin":0,"centring":0})"),
        "here");
  });
}

}  // namespace
}  // namespace skein::rlhf::rewards
