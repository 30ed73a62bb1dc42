// Answers of conversations are learnt, to the same bits at every layout and however they are
// packed.
#include <fstream>
#include <gtest/gtest.h>
#include <random>

#include "skein/train/run_state.h"
#include "skein/train/tasks/sft.h"

#include "train/train_fixture.h"

namespace skein {
namespace {

// Conversations of one to three turns, each answer the user's letter three times: 64 of them.
std::string write_conversations(const Workspace& folder, const std::string& name,
                                uint32_t seed = 5) {
  std::mt19937 random(seed);
  std::ofstream file(folder.at(name));
  for (int i = 0; i < 64; ++i) {
    std::string turns;
    for (size_t turn = 0; turn < 1 + random() % 3; ++turn) {
      const std::string letter(1, static_cast<char>('a' + random() % 4));
      turns += fmt::format(
          R"({}{{"role": "user", "content": "{}"}}, {{"role": "assistant", "content": "{}"}})",
          turn ? ", " : "", letter, letter + letter + letter);
    }
    file << R"({"messages": [)" << turns << "]}\n";
  }
  return folder.at(name);
}

SftConfig small_task(const std::string& file, const std::string& form) {
  SftConfig c = sft_defaults();
  ModelConfig& model = c.run.model;
  model.vocab_size = 257;
  model.context = 48;
  model.d_model = 32;
  model.n_layers = 2;
  model.n_heads = 2;
  model.init_std = 0.1;
  model.positions = Positions::rotary;
  c.chat.form = form;
  c.run.data.train = c.run.data.validation = {file};
  c.run.train.steps = 80;
  c.run.lr.lr = 1e-2;
  c.run.validation.every = 0;
  c.run.run.log_every = 1000;
  c.run.run.tensorboard = false;
  c.run.run.dir.clear();
  return c;
}

// A template that costs few tokens.
std::string write_template(const Workspace& folder) {
  std::ofstream(folder.at("short.json"))
      << R"({"name": "short", "user": {"open": "U"}, "assistant": {"open": "A", "close": "{eos}"}, "end": "{eos}"})";
  return folder.at("short.json");
}

class SftTasks : public testing::Test {
 protected:
  struct Ended {
    Finished finished;
    Scores validation;
  };

  Ended run(SftConfig c, int ranks = 1, const std::string& name = "", const TaskNotes& notes = {}) {
    c.run.run.dir = name.empty() ? "" : folder_.at(name);
    Ended ended;
    run_ranks(ranks, [&](Group& world) {
      SftConfig own = c;
      const auto task = sft_task(own, byte_tokenizer(), notes);
      const TrainResult result = skein::train(own.run, *task, world);
      if (world.rank() == 0)
        ended = {{result.losses, result.grad_norms, {}, {}}, result.validation};
    });
    if (!name.empty()) ended.finished.state = state_of(folder_.at(name));
    return ended;
  }
  static double value(const Scores& scores, const std::string& name) {
    for (const auto& [key, found] : scores.values)
      if (key == "validation_" + name) return found;
    ADD_FAILURE() << "no " << name;
    return 0;
  }
  std::string error_of(const SftConfig& c, const std::string& name = "") {
    try {
      run(c, 1, name);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
      return error.what();
    }
    return "no error";
  }

  Workspace folder_;
  std::string file_ = write_conversations(folder_, "chats.jsonl"), form_ = write_template(folder_);
};

TEST_F(SftTasks, LearnAnswersAndTheirEnds) {
  const Scores scores = run(small_task(file_, form_)).validation;
  EXPECT_EQ(value(scores, "token_accuracy"), 1) << scores.text;
  EXPECT_LT(value(scores, "loss"), 0.05);
  EXPECT_EQ(value(scores, "perplexity"), std::exp(value(scores, "loss")));
  EXPECT_EQ(scores.quality, -value(scores, "loss"));
}

TEST_F(SftTasks, OtherConversationsUnderTheirNameAreRefusedUnlessAskedFor) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 2;
  run(c, 1, "run");
  write_conversations(folder_, "chats.jsonl", 6);
  c.run.train.steps = 4;
  const std::string text = error_of(c, "run");
  for (const char* word : {"data.train: ", "data.validation: ", "chats.jsonl was ",
                           " bytes with sum ", "checkpoint.other_data=true"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
  c.run.checkpoint.other_data = true;
  EXPECT_EQ(run(c, 1, "run").finished.losses.size(), 2u);
}

TEST_F(SftTasks, GiveEqualBitsAtEveryLayout) {
  struct Case {
    DType precision;
    double dropout;
    bool pack;
    int64_t frozen;
  };
  int number = 0;
  for (const Case& each : {Case{DType::f32, 0.1, true, -1}, Case{DType::bf16, 0, false, 1}}) {
    SftConfig c = small_task(file_, form_);
    c.run.train.steps = 5;
    c.run.model.dropout = each.dropout;
    c.run.train.precision = each.precision;
    c.run.train.frozen_layers = each.frozen;
    c.run.parallel.reduction_groups = 4;
    c.task.pack = each.pack;
    const std::string name = fmt::format("case{}", number++);
    const Ended expected = run(c, 1, name);
    for (const auto& [data, pipeline, micro] :
         {std::tuple{1, 1, 4}, {2, 1, 2}, {1, 2, 1}, {2, 2, 4}, {4, 1, 1}}) {
      c.run.parallel.pipeline = pipeline;
      c.run.parallel.zero = data == 4;
      c.run.train.micro_batch = micro;
      const std::string other = fmt::format("{}_{}{}{}", name, data, pipeline, micro);
      const Ended found = run(c, data * pipeline, other);
      EXPECT_EQ(found.finished.losses, expected.finished.losses) << other;
      EXPECT_EQ(found.finished.grad_norms, expected.finished.grad_norms) << other;
      EXPECT_EQ(first_difference(found.finished.state, expected.finished.state), "") << other;
      EXPECT_EQ(found.validation.values, expected.validation.values) << other;
    }
  }
}

TEST_F(SftTasks, TensorParallelRanksAgree) {
  for (bool sequence : {false, true}) {
    SftConfig c = small_task(file_, form_);
    c.run.train.steps = 5;
    const Ended expected = run(c);
    c.run.parallel.tensor = 2;
    c.run.parallel.sequence = sequence;
    const Ended found = run(c, 2);
    for (size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(found.finished.losses[i], expected.finished.losses[i], 1e-4) << sequence;
    EXPECT_NEAR(value(found.validation, "loss"), value(expected.validation, "loss"), 1e-4);
  }
}

// All conversations in one step, in rows of several or of one.
TEST_F(SftTasks, PackedConversationsCostWhatTheyCostAlone) {
  for (const Positions positions : {Positions::rotary, Positions::learned}) {
    SftConfig c = small_task(file_, form_);
    c.run.model.positions = positions;
    c.run.train.steps = 1;
    c.run.parallel.reduction_groups = 1;
    c.run.train.global_batch = c.run.train.micro_batch = 64;
    c.task.pack = false;
    const Ended alone = run(c, 1, fmt::format("alone{}", static_cast<int>(positions)));
    testing::internal::CaptureStderr();
    c.task.pack = true;
    c.run.train.global_batch = c.run.train.micro_batch = 1;
    run(c);
    const std::string said = testing::internal::GetCapturedStderr();
    const size_t at = said.find(" rows of 48 tokens");
    ASSERT_NE(at, std::string::npos) << said;
    const int64_t rows = std::stoll(said.substr(said.rfind(' ', at - 1)));
    ASSERT_LT(rows, 32) << "nothing is packed";
    c.run.train.global_batch = c.run.train.micro_batch = rows;
    const Ended packed = run(c, 1, fmt::format("packed{}", static_cast<int>(positions)));
    EXPECT_NEAR(packed.finished.losses[0], alone.finished.losses[0], 1e-6);
    EXPECT_NEAR(packed.finished.grad_norms[0], alone.finished.grad_norms[0], 1e-5);
    EXPECT_NEAR(value(packed.validation, "loss"), value(alone.validation, "loss"), 1e-4);
  }
}

TEST_F(SftTasks, OnlyAnswersAreLearnt) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 1;
  c.run.lr.lr = 1e-30;
  c.run.data.validation = {folder_.at("one.jsonl")};
  const auto loss_of = [&](const std::string& completion) {
    std::ofstream(folder_.at("one.jsonl"))
        << fmt::format(R"({{"prompt": "some question", "completion": "{}"}})", completion) << '\n';
    return run(c).validation;
  };
  EXPECT_NE(loss_of("a").text.find("of 2 answer tokens"), std::string::npos)
      << "the answer and its end";
  EXPECT_NE(loss_of("abc").text.find("of 4 answer tokens"), std::string::npos);
}

TEST_F(SftTasks, GoOnWithEqualBits) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 12;
  c.run.lr.decay = LrConfig::Decay::constant;
  c.run.checkpoint.every = 5;
  c.run.checkpoint.keep = 100;
  const Ended expected = run(c, 1, "expected");
  std::filesystem::copy(folder_.at("expected"), folder_.at("run"),
                        std::filesystem::copy_options::recursive);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.at("run") + "/checkpoints"))
    if (!entry.path().filename().string().starts_with("step-00000005"))
      std::filesystem::remove_all(entry.path());
  c.run.parallel.pipeline = 2;
  const Ended found = run(c, 2, "run");
  EXPECT_EQ(found.finished.losses, std::vector<double>(expected.finished.losses.begin() + 5,
                                                       expected.finished.losses.end()));
  EXPECT_EQ(first_difference(found.finished.state, expected.finished.state), "");
}

TEST_F(SftTasks, BeginWithAPretrainedModelAndKeepItsTemplate) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 2;
  const State before = run(c, 1, "first").finished.state;
  const auto alone = single_rank();
  const auto info = find_checkpoint(folder_.at("first"), *alone);
  const TaskNotes notes = run_state(info->metadata, info->path).notes;
  EXPECT_EQ(chat_template_in(notes).text(), ChatTemplate(form_, *byte_tokenizer()).to_json());
  c.chat.form.clear();
  c.run.checkpoint.load = folder_.at("first");
  c.run.lr.lr = 1e-30;
  const State after = run(c, 1, "second", notes).finished.state;
  EXPECT_EQ(after.at("param/block.1.mlp.up.weight"), before.at("param/block.1.mlp.up.weight"));
  const auto next = find_checkpoint(folder_.at("second"), *alone);
  EXPECT_EQ(chat_template_in(run_state(next->metadata, next->path).notes), chat_template_in(notes));
  for (const char* without : {"", "{}", "{\"template\": 3}", "[]", "{"})
    EXPECT_TRUE(chat_template_in(TaskNotes(without)).empty()) << without;
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
  sft_task(c, byte_tokenizer(), {});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("left out: " + file_ + ":65"),
            std::string::npos);
}

TEST_F(SftTasks, LearnTheEndsOfEmptyAnswers) {
  SftConfig c = small_task(folder_.at("silent.jsonl"), form_);
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
  std::ofstream(folder_.at("tasks.jsonl"))
      << R"({"instruction": "do", "input": "x", "output": "y"})" << '\n';
  std::ofstream(folder_.at("pairs.jsonl")) << R"({"prompt": "do", "completion": "y"})" << '\n';
  const auto noted = [&](const std::string& form, std::vector<std::string> files,
                         const TaskNotes& before = {}) {
    SftConfig c = small_task(file_, form);
    c.run.data.train = std::move(files);
    c.run.data.validation.clear();
    c.run.model.context = 512;
    return sft_task(c, byte_tokenizer(), before)->notes();
  };
  const TaskNotes alpaca = noted("none", {folder_.at("tasks.jsonl")});
  EXPECT_EQ(instruction_notes(alpaca).form, InstructionForm::alpaca);
  EXPECT_TRUE(instruction_notes(alpaca).alone);
  EXPECT_FALSE(
      instruction_notes(noted("none", {folder_.at("tasks.jsonl"), folder_.at("pairs.jsonl")}))
          .alone);
  EXPECT_EQ(instruction_notes(noted("plain", {folder_.at("tasks.jsonl")})).form,
            InstructionForm::turn);
  const TaskNotes turns = with_instructions(alpaca, {InstructionForm::turn, false});
  EXPECT_EQ(instruction_notes(noted("", {folder_.at("tasks.jsonl")}, turns)).form,
            InstructionForm::turn)
      << "as the checkpoint learnt them";
  EXPECT_FALSE(instruction_notes(TaskNotes("{}")).form.has_value());
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
  sft_task(c, byte_tokenizer(), {});
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
  c.run.parallel.cuda_graph = true;
  EXPECT_NE(error_of(c).find("parallel.cuda_graph records pretraining only"), std::string::npos);
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
}  // namespace skein
