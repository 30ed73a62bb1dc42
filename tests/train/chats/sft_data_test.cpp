// What SFT reads of conversations, and what it refuses.
#include <fstream>
#include <gtest/gtest.h>

#include "skein/train/chats/sft.h"

#include "support/expect_error.h"
#include "train/sft_fixture.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::SftTasks;
using test::small_task;
using test::write_conversations;

TEST_F(SftTasks, OtherConversationsUnderTheirNameAreRefusedUnlessAskedFor) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 2;
  run(c, 1, "run");
  write_conversations(folder_, "chats.jsonl", 6);
  c.run.train.steps = 4;
  test::expect_words(error_of(c, "run"), {"data.train: ", "data.validation: ", "chats.jsonl was ",
                                          " bytes with sum ", "checkpoint.other_data=true"});
  c.run.checkpoint.other_data = true;
  EXPECT_EQ(run(c, 1, "run").finished.losses.size(), 2u);
}

TEST_F(SftTasks, OnlyAnswersAreLearnt) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 1;
  c.run.lr.lr = 1e-30;
  c.run.data.validation = {folder_.file("one.jsonl")};
  const auto loss_of = [&](const std::string& completion) {
    std::ofstream(folder_.file("one.jsonl"))
        << fmt::format(R"({{"prompt": "some question", "completion": "{}"}})", completion) << '\n';
    return run(c).validation;
  };
  EXPECT_NE(loss_of("a").text.find("of 2 answer tokens"), std::string::npos)
      << "the answer and its end";
  EXPECT_NE(loss_of("abc").text.find("of 4 answer tokens"), std::string::npos);
}

TEST_F(SftTasks, RunsOfOtherTemplatesAreRefusedAndOtherConversationsTold) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 2;
  run(c, 1, "run");
  c.run.train.steps = 3;
  c.run.data.train = {write_conversations(folder_, "others.jsonl", 6)};
  testing::internal::CaptureStderr();
  run(c, 1, "run");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("training samples are not those"), std::string::npos) << said;
  c.chat.form = "none";
  c.run.train.steps = 4;
  EXPECT_NE(
      error_of(c, "run").find("by the chat template \"short\", but chat.template is \"none\""),
      std::string::npos)
      << error_of(c, "run");
}

TEST_F(SftTasks, TellWhatIsTooLong) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 1;
  c.task.length = 13;  // two turns of 7 tokens, but for the last end
  testing::internal::CaptureStderr();
  run(c);
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(
      said.find("of 64 training conversations are longer than 13 tokens and lose what is beyond"),
      std::string::npos)
      << said;
  EXPECT_EQ(said.find("left out"), std::string::npos) << said;
  std::ofstream(file_, std::ios::app)
      << R"({"messages": [{"role": "user", "content": "aaaaaaaaaaaaaaaa"}, {"role": "assistant", "content": "b"}]})"
      << '\n';
  testing::internal::CaptureStderr();
  run(c);
  said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("1 of 65 training conversations are left out"), std::string::npos) << said;
}

TEST_F(SftTasks, LeaveOutWhatTheTemplateRefuses) {
  std::ofstream(file_, std::ios::app)
      << R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})"
      << '\n';
  SftConfig c = small_task(file_, form_);
  EXPECT_NE(error_of(c).find("chats.jsonl:65"), std::string::npos) << error_of(c);
  c.chat.records.bad_records = 1;
  testing::internal::CaptureStderr();
  sft_task(c, text::byte_tokenizer(), {});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("left out: " + file_ + ":65"),
            std::string::npos);
}

TEST_F(SftTasks, LearnTheEndsOfEmptyAnswers) {
  SftConfig c = small_task(folder_.file("silent.jsonl"), form_);
  c.run.train.global_batch = 1;
  std::ofstream(c.run.data.train.front()) << R"({"prompt": "a", "completion": ""})" << '\n'
                                          << R"({"prompt": "b", "completion": "bbb"})" << '\n';
  testing::internal::CaptureStderr();
  const Scores scores = run(c).validation;
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(
      said.find("answers of " + c.run.data.train.front() + " that are empty or white space: 1;"),
      std::string::npos)
      << said;
  EXPECT_EQ(value(scores, "token_accuracy"), 1) << scores.text;
}

TEST_F(SftTasks, RefusePassesWithoutEnd) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 0;
  c.task.epochs = 1e30;
  const std::string error = error_of(c);
  EXPECT_NE(error.find("sft.epochs=1e+30"), std::string::npos) << error;
  EXPECT_NE(error.find("at most 1e+12"), std::string::npos) << error;
}

// The notes say how instructions were worded, for whoever asks the model.
TEST_F(SftTasks, NoteTheFormOfInstructions) {
  std::ofstream(folder_.file("tasks.jsonl"))
      << R"({"instruction": "do", "input": "x", "output": "y"})" << '\n';
  std::ofstream(folder_.file("pairs.jsonl")) << R"({"prompt": "do", "completion": "y"})" << '\n';
  const auto noted = [&](const std::string& form, std::vector<std::string> files,
                         const TaskNotes& before = {}) {
    SftConfig c = small_task(file_, form);
    c.run.data.train = std::move(files);
    c.run.data.validation.clear();
    c.run.model.context = 512;
    return sft_task(c, text::byte_tokenizer(), before)->notes();
  };
  const TaskNotes alpaca = noted("none", {folder_.file("tasks.jsonl")});
  EXPECT_EQ(instruction_notes(alpaca).form, data::InstructionForm::alpaca);
  EXPECT_TRUE(instruction_notes(alpaca).alone);
  EXPECT_FALSE(
      instruction_notes(noted("none", {folder_.file("tasks.jsonl"), folder_.file("pairs.jsonl")}))
          .alone);
  EXPECT_EQ(instruction_notes(noted("plain", {folder_.file("tasks.jsonl")})).form,
            data::InstructionForm::turn);
  const TaskNotes turns = with_instructions(alpaca, {data::InstructionForm::turn, false});
  EXPECT_EQ(instruction_notes(noted("", {folder_.file("tasks.jsonl")}, turns)).form,
            data::InstructionForm::turn)
      << "as the checkpoint learnt them";
  EXPECT_FALSE(instruction_notes(TaskNotes("{}")).form.has_value());
  EXPECT_FALSE(instruction_notes(noted("none", {folder_.file("pairs.jsonl")})).form.has_value())
      << "no instruction was learnt";
  EXPECT_EQ(instruction_notes(noted("", {folder_.file("pairs.jsonl")}, turns)).form,
            data::InstructionForm::turn)
      << "the checkpoint learnt them";
  EXPECT_FALSE(
      instruction_notes(TaskNotes(R"({"instructions":{"form":"poem"}})")).form.has_value());
  EXPECT_EQ(with_instructions(TaskNotes("{}"), {}).text(), "{}");
}

TEST_F(SftTasks, FillInWhatTheDataSays) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 0;
  c.run.validation.every = -1;
  c.run.train.global_batch = 8;
  c.task.pack = false;
  sft_task(c, text::byte_tokenizer(), {});
  EXPECT_EQ(c.run.train.steps, 24);
  EXPECT_EQ(c.run.validation.every, 8);
  EXPECT_EQ(c.run.lr.warmup, 1);
}

TEST_F(SftTasks, RefuseWhatDoesNotFit) {
  const SftConfig good = small_task(file_, form_);
  SftConfig c = good;
  c.run.data.train.clear();
  EXPECT_NE(error_of(c).find("data.train names no file"), std::string::npos);
  c = good;
  c.task.length = 49;
  EXPECT_NE(error_of(c).find("sft.length=49 must be from 1 to model.context=48"),
            std::string::npos);
  c = good;
  c.task.length = 2;
  EXPECT_NE(error_of(c).find(
                "none of the 64 conversations of data.train has an answer that fits into 2 tokens"),
            std::string::npos)
      << error_of(c);
  c = good;
  c.chat.form = "chatml";
  EXPECT_NE(error_of(c).find("needs the special token <|im_start|>"), std::string::npos);
  c = good;
  c.run.train.steps = 0;
  c.task.epochs = 0;
  EXPECT_NE(error_of(c).find("sft.epochs=0 must be above 0"), std::string::npos);
  c = good;
  c.run.model.vocab_size = 100;
  EXPECT_NE(error_of(c).find("the model knows 100 ids, but its tokenizer has 257"),
            std::string::npos);
  c = good;
  c.run.model.head = Head::sequence;
  EXPECT_NE(error_of(c).find("`skein sft` needs a GPT"), std::string::npos);
  c = good;
  std::ofstream(file_, std::ios::app)
      << R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})"
      << '\n';
  EXPECT_NE(
      error_of(c).find(
          "chats.jsonl:65: the chat template \"short\" has no place for a turn of the system"),
      std::string::npos)
      << error_of(c);
}

}  // namespace
}  // namespace skein::train
