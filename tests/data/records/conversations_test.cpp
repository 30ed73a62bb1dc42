#include "skein/data/records/conversations.h"

#include <algorithm>

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;

std::vector<Conversation> conversations_in(const std::string& bytes,
                                           ConversationsConfig config = {}) {
  const Scratch scratch;
  write_file(scratch.file("x.jsonl"), bytes);
  config.files = {scratch.file("x.jsonl")};
  return read_conversations(config);
}

std::vector<PromptRecord> read_questions(const std::string& bytes, bool drop_answers = true,
                                         ConversationsConfig config = {}) {
  const Scratch scratch;
  write_file(scratch.file("x.jsonl"), bytes);
  config.files = {scratch.file("x.jsonl")};
  return read_prompts(config, drop_answers);
}

// "user:hi|assistant:hello"
std::string summary(const Conversation& conversation) {
  std::string text;
  for (const auto& [role, content] : conversation.messages)
    text += (text.empty() ? "" : "|") + role + ":" + content;
  return text;
}

void refuse_conversations(const std::string& bytes, std::initializer_list<std::string> words,
                          const ConversationsConfig& config = {}) {
  SCOPED_TRACE(bytes.substr(0, 100));
  expect_error(ExitCode::usage, words, [&] { conversations_in(bytes, config); });
}

TEST(Conversations, PromptsAndTheirCompletions) {
  const auto made = conversations_in(
      "\xEF\xBB\xBF{\"prompt\": \"1+1=\", \"completion\": \"2\", \"id\": 7}\r\n\n{\"completion\": "
      "\" b \", \"prompt\": \"\"}");
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(summary(made[0]), "user:1+1=|assistant:2");
  EXPECT_EQ(made[0].record, "{\"prompt\": \"1+1=\", \"completion\": \"2\", \"id\": 7}");
  EXPECT_EQ(made[0].line, 1);
  EXPECT_EQ(summary(made[1]), "user:|assistant: b ");
  EXPECT_EQ(made[1].line, 3);
  for (const std::string key : {"response", "output", "answer"})
    EXPECT_EQ(summary(conversations_in(R"({"prompt": "a", ")" + key + R"(": "b"})").at(0)),
              "user:a|assistant:b");
  EXPECT_EQ(
      summary(
          conversations_in(
              R"({"prompt": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "completion": [{"role": "assistant", "content": "a"}]})")
              .at(0)),
      "system:s|user:u|assistant:a");
  ConversationsConfig named;
  named.prompt = "question";
  EXPECT_EQ(
      summary(
          conversations_in(R"({"question": "q", "answer": "a", "instruction": "i"})", named).at(0)),
      "user:q|assistant:a");
  named.answer = "gold";
  EXPECT_EQ(
      summary(conversations_in(R"({"question": "q", "answer": "a", "gold": "g"})", named).at(0)),
      "user:q|assistant:g");
  refuse_conversations(R"({"question": "q", "answer": "a"})",
                       {"x.jsonl:1", "no key \"gold\"", "answer, question"}, named);
}

TEST(Conversations, Instructions) {
  EXPECT_EQ(
      summary(conversations_in(R"({"instruction": "Add.", "input": "1 2", "output": "3"})").at(0)),
      "user:Add.\n\n1 2|assistant:3");
  EXPECT_EQ(
      summary(conversations_in(R"({"instruction": "Say hi.", "input": "", "output": "hi"})").at(0)),
      "user:Say hi.|assistant:hi");
  EXPECT_EQ(
      summary(
          conversations_in(
              R"({"instruction": "Who?", "context": "He.", "response": "me", "category": "qa"})")
              .at(0)),
      "user:Who?\n\nHe.|assistant:me");
  EXPECT_EQ(
      summary(conversations_in(R"({"id": 1, "instruction": "Who?", "response": "me"})").at(0)),
      "user:Who?|assistant:me");
  ConversationsConfig alpaca;
  alpaca.instructions = InstructionForm::alpaca;
  EXPECT_EQ(
      summary(conversations_in(R"({"instruction": "Add.", "input": "1 2", "output": "3"})", alpaca)
                  .at(0)),
      "user:Below is an instruction that describes a task, paired with an input that provides "
      "further context. Write a response that appropriately completes the request.\n\n### "
      "Instruction:\nAdd.\n\n### Input:\n1 2\n\n### Response:|assistant:3");
  EXPECT_EQ(summary(conversations_in(R"({"instruction": "Hi.", "output": "hi"})", alpaca).at(0)),
            "user:Below is an instruction that describes a task. Write a response that "
            "appropriately completes the request.\n\n### Instruction:\nHi.\n\n"
            "### Response:|assistant:hi");
}

TEST(Conversations, ListsOfTurns) {
  EXPECT_EQ(
      summary(
          conversations_in(
              R"({"prompt": "p", "messages": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a", "weight": 1}, )"
              R"({"role": "user", "content": "v"}]})")
              .at(0)),
      "user:u|assistant:a|user:v");
}

TEST(Conversations, ListsOfTurnsOfShareGpt) {
  EXPECT_EQ(
      summary(
          conversations_in(
              R"({"id": "x", "conversations": [{"from": "gpt", "value": "0"}, {"from": "human", "value": "1"}, {"from": "gpt", "value": "2"}]})")
              .at(0)),
      "user:1|assistant:2");
  EXPECT_EQ(
      summary(
          conversations_in(
              R"({"conversations": [{"from": "system", "value": "s"}, {"from": "gpt", "value": "0"}, {"from": "human", "value": "1"}, {"from": "gpt", "value": "2"}]})")
              .at(0)),
      "system:s|user:1|assistant:2");
  EXPECT_EQ(
      summary(
          conversations_in(
              R"({"messages": [{"role": "system", "content": " "}, {"role": "user", "content": "1"}, {"role": "assistant", "content": "2"}]})")
              .at(0)),
      "user:1|assistant:2");
}

TEST(Conversations, TheFirstRecordSaysTheKindOfItsFile) {
  const std::string messages =
      R"({"messages": [{"role": "user", "content": "1"}, {"role": "assistant", "content": "2"}]})";
  refuse_conversations(R"({"instruction": "a", "output": "b"})"
                       "\n" +
                           messages,
                       {"x.jsonl:2", "no key \"instruction\"", "messages"});
  ConversationsConfig config;
  config.kind = ConversationKind::prompt;
  refuse_conversations(messages, {"x.jsonl:1", "no key \"prompt\""}, config);
  const Scratch scratch;
  write_file(scratch.file("a.jsonl"), messages);
  write_file(scratch.file("b.jsonl"), R"({"instruction": "a", "output": "b"})");
  config = {};
  config.files = {scratch.file("a.jsonl"), scratch.file("b.jsonl")};
  const auto made = read_conversations(config);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_TRUE(where_of(made[1], config).ends_with("b.jsonl:1"));
  EXPECT_EQ(made[1].file, 1);
}

std::string turns(std::initializer_list<std::pair<const char*, const char*>> list) {
  std::string text;
  for (const auto& [role, content] : list)
    text += fmt::format(R"({}{{"role": "{}", "content": "{}"}})", text.empty() ? "" : ", ", role,
                        content);
  return "{\"messages\": [" + text + "]}";
}

TEST(Conversations, TurnsMustBeInOrder) {
  refuse_conversations(turns({{"user", "a"}, {"assistant", "b"}, {"assistant", "c"}}),
                       {"x.jsonl:1", "turn 3", "of the assistant", "one of the user is due"});
  refuse_conversations(turns({{"user", "a"}, {"user", "b"}}),
                       {"turn 2", "of the user", "one of the assistant is due"});
  refuse_conversations(turns({{"assistant", "a"}, {"user", "b"}}), {"turn 1", "user begins"});
  refuse_conversations(turns({{"user", "a"}, {"system", "b"}}), {"turn 2", "of the system"});
  refuse_conversations(turns({{"user", "a"}}), {"no answer"});
  refuse_conversations(turns({{"system", "a"}}), {"no turn of the user"});
  refuse_conversations(turns({}), {"no turn of the user"});
  refuse_conversations(turns({{"user", "a"}, {"tool", "x"}}),
                       {"turn 2 of \"messages\"", "\"tool\"", "system, user and assistant"});
}

// The token that ends them is what they are.
TEST(Conversations, AnswersMayBeEmpty) {
  EXPECT_EQ(summary(conversations_in(R"({"prompt": "q", "completion": ""})").at(0)),
            "user:q|assistant:");
  EXPECT_EQ(summary(conversations_in(R"({"instruction": "Do.", "output": " "})").at(0)),
            "user:Do.|assistant: ");
  const std::string two =
      turns({{"user", "a"}, {"assistant", ""}, {"user", "b"}, {"assistant", "c"}});
  EXPECT_EQ(summary(conversations_in(two).at(0)), "user:a|assistant:|user:b|assistant:c");
  const std::string shared =
      R"({"conversations": [{"from": "human", "value": "1"}, {"from": "gpt", "value": ""}]})";
  EXPECT_EQ(summary(conversations_in(shared).at(0)), "user:1|assistant:");
  EXPECT_EQ(summary(read_questions(turns({{"user", "a"}, {"assistant", ""}})).at(0)), "user:a");
}

TEST(Conversations, SayWhatIsWrongWithARecord) {
  refuse_conversations("", {"x.jsonl holds no conversations"});
  refuse_conversations("{\"prompt\": \"a\", \"completion\": \"b\"}\n{oops\n", {"x.jsonl:2"});
  refuse_conversations("[{\"instruction\": \"a\"}]", {"x.jsonl:1", "array", "jq"});
  refuse_conversations("{\"text\": \"a\"}", {"x.jsonl:1", "\"messages\"", "the object has text"});
  refuse_conversations("{\"prompt\": \"a\"}",
                       {"x.jsonl:1", "no answer", "completion, response, output, answer"});
  refuse_conversations("{\"prompt\": 3, \"completion\": \"b\"}",
                       {"\"prompt\" is a JSON number, not a string"});
  refuse_conversations("{\"prompt\": \"a\", \"completion\": null}",
                       {"\"completion\" is a JSON null"});
  refuse_conversations("{\"instruction\": \"a\", \"input\": 3, \"output\": \"b\"}",
                       {"\"input\" is a JSON number"});
  refuse_conversations("{\"instruction\": \"a\", \"answers\": \"b\"}",
                       {"no answer", "output, response, completion"});
  refuse_conversations("{\"messages\": \"a\"}", {"\"messages\" is a JSON string, not a list"});
  refuse_conversations("{\"messages\": [3]}", {"turn 1", "not an object"});
  refuse_conversations("{\"messages\": [{\"rol\": \"user\", \"content\": \"\"}]}",
                       {"no key \"role\"", "did you mean \"rol\""});
  refuse_conversations(
      "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\"}]}]}",
      {"\"content\" of turn 1", "array, not a string"});
  refuse_conversations("{\"conversations\": [{\"from\": \"tool\", \"value\": \"\"}]}",
                       {"\"tool\"", "system, human and gpt"});
  ConversationsConfig config;
  config.most_record_bytes = 20;
  refuse_conversations("{\"prompt\": \"aaaaaaaaaaaaaaaaaaaaa\"}",
                       {"x.jsonl:1", "longer than 20 bytes"}, config);
  config = {};
  config.prompt.clear();
  refuse_conversations("{}", {"no key of prompts"}, config);
  expect_error(ExitCode::usage, {"no file"}, [] { read_conversations({}); });
  expect_error(ExitCode::usage, {"none.jsonl"},
               [] { read_conversations({.files = {"/none.jsonl"}}); });
}

TEST(Conversations, OfManyBadRecordsTenAreToldAndACount) {
  std::string text = "{\"prompt\": \"a\", \"completion\": \"b\"}\n";
  for (int i = 0; i < 35; ++i) text += "{\"prompt\": 3}\n";
  ConversationsConfig config;
  config.bad_records = 100;
  testing::internal::CaptureStderr();
  EXPECT_EQ(conversations_in(text, config).size(), 1u);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 11) << said;
  EXPECT_NE(said.find("x.jsonl:11:"), std::string::npos) << said;
  EXPECT_EQ(said.find("x.jsonl:12:"), std::string::npos) << said;
  EXPECT_NE(said.find("left out: 25 more records, 35 in all"), std::string::npos) << said;
}

TEST(Conversations, SomeBadRecordsMayBeLeftOut) {
  const std::string good = "{\"prompt\": \"a\", \"completion\": \"b\"}\n",
                    bad = "{\"prompt\": 3}\n";
  ConversationsConfig config;
  config.bad_records = 2;
  testing::internal::CaptureStderr();
  const auto made = conversations_in(bad + good + "{\n" + good, config);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[1].line, 4);
  EXPECT_NE(said.find("left out: "), std::string::npos) << said;
  EXPECT_NE(said.find("x.jsonl:3"), std::string::npos) << said;
  testing::internal::CaptureStderr();
  refuse_conversations(bad + good + bad + bad, {"x.jsonl:4", "not a string", "data.bad_records=N"},
                       config);
  refuse_conversations(bad, {"holds no conversations"}, config);
  testing::internal::GetCapturedStderr();
  config.bad_records = -1;
  refuse_conversations(good, {"data.bad_records=-1"}, config);
}

// What a user of conversations refuses, a chat template say, is a bad record, the first of a file
// as any.
TEST(Conversations, BadRecordsAreAlsoThoseThatTheirUserRefuses) {
  const Scratch scratch;
  write_file(scratch.file("x.jsonl"),
             "{\"prompt\": \"no\"}\n{\"oops\": 1}\n{\"prompt\": \"a\", \"answer\": "
             "\"b\"}\n{\"prompt\": \"c\"}\n");
  ConversationsConfig config{.files = {scratch.file("x.jsonl")}};
  config.bad_records = 2;
  std::vector<std::string> seen;
  const UseConversation use = [&](const Conversation& one) {
    require(one.messages.back().content != "no", "this is refused");
    seen.push_back(where_of(one, config) + " " + summary(one));
  };
  testing::internal::CaptureStderr();
  const auto made = read_prompts(config, true, use);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].kind, ConversationKind::prompt);
  EXPECT_EQ(seen, (std::vector<std::string>{scratch.file("x.jsonl") + ":3 user:a",
                                            scratch.file("x.jsonl") + ":4 user:c"}));
  EXPECT_NE(said.find("x.jsonl:1: this is refused"), std::string::npos) << said;
  config.bad_records = 0;
  expect_error(ExitCode::usage, {"x.jsonl:1: this is refused", "data.bad_records=N"},
               [&] { read_prompts(config, true, use); });
}

TEST(Conversations, InstructionsStandUnderHeadingsOrNot) {
  EXPECT_EQ(instruction_turn("Do.", " ", InstructionForm::turn), "Do.");
  EXPECT_EQ(instruction_turn("Do.", "x", InstructionForm::turn), "Do.\n\nx");
  EXPECT_TRUE(has_headings(instruction_turn("Do.", "", InstructionForm::alpaca)));
  EXPECT_TRUE(has_headings(instruction_turn("Do.", "x", InstructionForm::alpaca)));
  EXPECT_FALSE(has_headings("Do."));
}

TEST(Conversations, PromptsToAnswer) {
  const auto made =
      read_questions("{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n{\"prompt\": \"x\"}");
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(summary(made[0]), "user:1+1=");
  EXPECT_EQ(made[0].record, "{\"prompt\": \"1+1=\", \"answer\": \"2\"}");
  EXPECT_EQ(summary(read_questions("{\"instruction\": \"Do.\"}").at(0)), "user:Do.");
  const std::string answered = turns(
                        {{"user", "a"}, {"assistant", "b"}, {"user", "c"}, {"assistant", "d"}}),
                    open = turns({{"user", "a"}, {"assistant", "b"}, {"user", "c"}});
  EXPECT_EQ(summary(read_questions(answered).at(0)), "user:a|assistant:b|user:c");
  EXPECT_EQ(summary(read_questions(open, false).at(0)), "user:a|assistant:b|user:c");
  expect_error(ExitCode::usage, {"x.jsonl:1", "ends with an answer"},
               [&] { read_questions(answered, false); });
}

}  // namespace
}  // namespace skein::data
