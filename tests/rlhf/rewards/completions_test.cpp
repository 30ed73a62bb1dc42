// What is written of a model's answers.
#include "skein/rlhf/rewards/completions.h"

#include <gtest/gtest.h>

#include "skein/core/json.h"

namespace skein::rlhf::rewards {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Two questions with two answers each; the second question is a conversation.
Completions completions(bool scored) {
  Completions all;
  all.questions = {
      generate::Question{generate::Turns{text::Message{"user", "one?"}}, "{\"prompt\":\"one?\"}"},
      generate::Question{generate::Turns{text::Message{"user", "u"},
                                         text::Message{"assistant", "a"},
                                         text::Message{"user", "two?"}}}};
  all.given = {generate::Turns{text::Message{"system", "s"}, text::Message{"user", "one?"}},
               all.questions[1].turns};
  all.add({{{1, 2}, true}, {{3}, false}});
  all.add({{{4}, true}, {{5, 6, 7}, true}});
  all.texts = {" A", " B", "same", " same\n"};
  if (scored) all.scores = {{1, 2, 0.5, 0.25}, {{"ended", {1, 0, 1, 1}}, {"length", {0, 2, 3, 4}}}};
  return all;
}

std::vector<OrderedJson> records(const std::string& text) {
  std::vector<OrderedJson> made;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) made.push_back(OrderedJson::parse(line));
  return made;
}

std::string kept(const Completions& all, KeptAnswers kept, generate::PromptFormat format,
                 bool continued = true) {
  testing::internal::CaptureStderr();
  const std::string text = kept_text(all, kept, format, continued);
  testing::internal::GetCapturedStderr();
  return text;
}

TEST(Completions, AsTextStandBehindTheirPrompts) {
  EXPECT_EQ(kept(completions(false), KeptAnswers::all, generate::PromptFormat::text),
            "one? A\n---\none? B\n---\nusame\n---\nu same\n\n---\n");
  EXPECT_EQ(kept(completions(false), KeptAnswers::all, generate::PromptFormat::text, false),
            " A\n---\n B\n---\nsame\n---\n same\n\n---\n")
      << "of conversations the answers alone";
}

TEST(Completions, AsRecordsSayWhatWasAsked) {
  const auto found =
      records(kept(completions(false), KeptAnswers::all, generate::PromptFormat::jsonl));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].dump(),
            R"({"prompt":"one?","completion":" A","tokens":[1,2],"finish":"end"})");
  EXPECT_EQ(found[3]["messages"].size(), 3u);
  EXPECT_EQ(found[3]["messages"][1].dump(), R"({"role":"assistant","content":"a"})");
}

TEST(Completions, AsRecordsSayTheirScoresAndWhatWasGiven) {
  const auto found =
      records(kept(completions(true), KeptAnswers::all, generate::PromptFormat::jsonl));
  EXPECT_EQ(
      found[1].dump(),
      R"({"prompt":[{"role":"system","content":"s"},{"role":"user","content":"one?"}],"completion":" B","tokens":[3],"finish":"length","score":2.0,"scores":{"ended":0.0,"length":2.0}})");
}

TEST(Completions, AsRecordsSayLogProbabilitiesAndHowTheyEnded) {
  Completions all = completions(false);
  all.answers[1].stopped = true;
  all.answers[1].log_probabilities = {-0.5};
  const auto found = records(kept(all, KeptAnswers::all, generate::PromptFormat::jsonl));
  EXPECT_EQ(
      found[1].dump(),
      R"({"prompt":"one?","completion":" B","tokens":[3],"logprobs":[-0.5],"finish":"stop"})");
}

// One answer to the first question, two to the second.
TEST(Completions, ThatWereSearchedSayTheirScores) {
  Completions all = completions(false);
  all.searched = true;
  all.answers = {};
  all.ends = {};
  all.add({{{1, 2}, true, -0.25}});
  all.add({{{4}, true, -1.5}, {{5, 6, 7}, false, -2}});
  all.texts = {" A", "B", "C"};
  const auto found = records(kept(all, KeptAnswers::all, generate::PromptFormat::jsonl));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].dump(),
            R"({"prompt":"one?","completion":" A","tokens":[1,2],"finish":"end","score":-0.25})");
  EXPECT_EQ(found[2]["completion"], "C");
  EXPECT_EQ(found[2]["messages"].size(), 3u);
  EXPECT_EQ(kept(all, KeptAnswers::all, generate::PromptFormat::text, false),
            " A\n---\nB\n--- -1.500000\nC\n--- -2.000000\n");
}

TEST(Completions, WithTheHighestScoresAreKept) {
  EXPECT_EQ(kept(completions(true), KeptAnswers::best, generate::PromptFormat::text, false),
            " B\n---\nsame\n---\n");
}

TEST(Completions, AreRankedWhereTheyDiffer) {
  testing::internal::CaptureStderr();
  const auto found = records(
      kept_text(completions(true), KeptAnswers::ranked, generate::PromptFormat::jsonl, false));
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["answers"].dump(), R"([" B"," A"])");
  EXPECT_EQ(found[0]["ranks"].dump(), "[1,2]");
  EXPECT_EQ(found[0]["scores"].dump(), "[2.0,1.0]");
  EXPECT_NE(said.find("1 of 2 prompts got one answer only"), std::string::npos) << said;
  EXPECT_NE(said.find("mean score 0.9375 of all answers, 1.2500 of the best to each prompt"),
            std::string::npos)
      << said;
}

TEST(Completions, MayStopInsideOfACharacter) {
  Completions all = completions(false);
  all.texts[0] = "caf\xc3";
  const auto found = records(kept(all, KeptAnswers::all, generate::PromptFormat::jsonl));
  EXPECT_EQ(found[0]["completion"], "caf\xef\xbf\xbd");
}

TEST(Completions, AreScoredWithTheirPromptsAndEnds) {
  Completions all = completions(false);
  all.answers[2] = {{5, 6, 7, 8, 9}, false};
  all.answers[2].stopped = true;
  const std::vector<generate::Tokens> prompts{{10}, {10}, {11, 12}, {11, 12}};
  const auto text_of = [](const generate::Tokens& tokens) {
    return std::string(tokens.size(), 'x');
  };
  const std::vector<Answer> answers = answers_to_score(all, prompts, 99, text_of);
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[0].prompt.number, 0);
  EXPECT_EQ(answers[0].prompt.messages.size(), 2u);
  EXPECT_EQ(answers[0].prompt.record, "{\"prompt\":\"one?\"}");
  EXPECT_EQ(answers[0].tokens, (generate::Tokens{1, 2, 99}));
  EXPECT_EQ(answers[1].tokens, (generate::Tokens{3})) << "it has not ended";
  EXPECT_EQ(answers[2].tokens, (generate::Tokens{5, 6, 7, 8})) << "of those that say \"same\"";
  EXPECT_TRUE(answers[2].cut);
  EXPECT_FALSE(answers[3].cut);
  EXPECT_EQ(answers[3].prompt.number, 1);
  EXPECT_EQ(answers[3].prompt.tokens, (generate::Tokens{11, 12}));
  EXPECT_EQ(answers[3].text, " same\n");
}

}  // namespace
}  // namespace skein::rlhf::rewards
