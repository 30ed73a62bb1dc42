// Prompts as commands are given them.
#include "skein/generate/prompts.h"

#include <gtest/gtest.h>

#include "data/data_fixtures.h"

namespace skein::generate {
namespace {

using namespace test;

std::vector<std::string> texts(const std::vector<Question>& questions) {
  std::vector<std::string> made;
  for (const Question& question : questions) {
    EXPECT_EQ(question.turns.size(), 1u);
    EXPECT_EQ(question.turns.at(0).role, "user");
    made.push_back(question.turns.at(0).content);
  }
  return made;
}

TEST(Prompts, AreLinesOfText) {
  const Scratch scratch;
  write_file(scratch.file("a"), "one\r\n\n two \n\xff\nlast");
  const auto found = prompts_in(scratch.file("a"), PromptFormat::text);
  EXPECT_EQ(texts(found), (std::vector<std::string>{"one", " two ", "\xff", "last"}));
  for (const Question& question : found) EXPECT_EQ(question.record, "");
}

TEST(Prompts, AreRecordsOfJson) {
  const Scratch scratch;
  write_file(scratch.file("a"),
             "{\"prompt\": \"one\\ntwo\", \"answer\": 3}\n\n{\"prompt\":\"\"}\n");
  const auto found = prompts_in(scratch.file("a"), PromptFormat::jsonl);
  EXPECT_EQ(texts(found), (std::vector<std::string>{"one\ntwo", ""}));
  EXPECT_EQ(found.at(0).record, "{\"prompt\": \"one\\ntwo\", \"answer\": 3}");
}

TEST(Prompts, ThatAreNoneAreRefused) {
  const Scratch scratch;
  expect_error(ExitCode::usage,
               {"generate.input=" + scratch.file("none") + " cannot be opened: No such file"},
               [&] { prompts_in(scratch.file("none"), PromptFormat::text); });
  expect_error(ExitCode::usage, {"generate.input=" + scratch.path() + " is a folder"},
               [&] { prompts_in(scratch.path(), PromptFormat::text); });
  write_file(scratch.file("empty"), "\n\r\n");
  expect_error(ExitCode::usage, {"generate.input=" + scratch.file("empty") + " holds no prompt"},
               [&] { prompts_in(scratch.file("empty"), PromptFormat::text); });
  for (const char* line : {"no JSON", "[]", "{\"text\":\"a\"}", "{\"prompt\":3}"}) {
    write_file(scratch.file("odd"), std::string("{\"prompt\":\"a\"}\n") + line + "\n");
    expect_error(ExitCode::usage, {scratch.file("odd") + ":2: a line of generate.format=jsonl"},
                 [&] { prompts_in(scratch.file("odd"), PromptFormat::jsonl); });
  }
}

TEST(Prompts, OfConversationsLackTheLastAnswer) {
  const Scratch scratch;
  const std::string line =
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]})";
  write_file(scratch.file("a"), line + "\n");
  const auto found = conversations_in({.files = {scratch.file("a")}});
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].turns.size(), 3u);
  EXPECT_EQ(found[0].turns[2].content, "c");
  EXPECT_EQ(found[0].record, line);
}

TEST(Prompts, AreTheSameOnEveryRank) {
  EXPECT_EQ(texts(prompts_of({"a", ""})), (std::vector<std::string>{"a", ""}));
  const Turns asked{text::Message{"system", "s"}, text::Message{"user", "u\xff\n"}};
  const Turns empty{text::Message{"user", ""}};
  const std::vector<Question> all{Question{asked, "{\"a\":1}"}, Question{empty}};
  const auto back = unpacked(packed(all));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].record, "{\"a\":1}");
  ASSERT_EQ(back[0].turns.size(), 2u);
  EXPECT_EQ(back[0].turns[0].role, "system");
  EXPECT_EQ(back[0].turns[1].content, "u\xff\n");
  EXPECT_EQ(back[1].record, "");
  EXPECT_EQ(texts({back[1]}), std::vector<std::string>{""});
  EXPECT_TRUE(unpacked(packed({})).empty());
}

}  // namespace
}  // namespace skein::generate
