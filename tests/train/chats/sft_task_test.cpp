// Answers of conversations are learnt, to the same bits at every layout and however they are
// packed.
#include <gtest/gtest.h>

#include "skein/train/chats/sft.h"
#include "skein/train/run_state.h"

#include "train/sft_fixture.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::SftTasks;
using test::small_task;

TEST_F(SftTasks, LearnAnswersAndTheirEnds) {
  const Scores scores = run(small_task(file_, form_)).validation;
  EXPECT_EQ(value(scores, "token_accuracy"), 1) << scores.text;
  EXPECT_LT(value(scores, "loss"), 0.05);
  EXPECT_EQ(value(scores, "perplexity"), std::exp(value(scores, "loss")));
  EXPECT_EQ(scores.quality, -value(scores, "loss"));
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
    c.task.pack = each.pack;
    expect_equal_bits(c, fmt::format("case{}", number++),
                      {{1, 1, 4}, {2, 1, 2}, {1, 2, 1}, {2, 2, 4}, {4, 1, 1, true}});
  }
}

TEST_F(SftTasks, TensorParallelRanksAgree) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 5;
  expect_near_at_tensor_parallel(c);
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

TEST_F(SftTasks, GoOnWithEqualBits) { expect_to_go_on_with_equal_bits(small_task(file_, form_)); }

TEST_F(SftTasks, BeginWithAPretrainedModelAndKeepItsTemplate) {
  SftConfig c = small_task(file_, form_);
  c.run.train.steps = 2;
  const State before = run(c, 1, "first").finished.state;
  const auto alone = single_rank();
  const auto info = checkpoint::find_checkpoint(folder_.file("first"), *alone);
  const TaskNotes notes = run_state(info->metadata, info->path).notes;
  EXPECT_EQ(chat_template_in(notes).text(),
            text::ChatTemplate(form_, *text::byte_tokenizer()).to_json());
  c.chat.form.clear();
  c.run.checkpoint.load = folder_.file("first");
  c.run.lr.lr = 1e-30;
  notes_ = notes;
  const State after = run(c, 1, "second").finished.state;
  EXPECT_EQ(after.at("param/block.1.mlp.up.weight"), before.at("param/block.1.mlp.up.weight"));
  const auto next = checkpoint::find_checkpoint(folder_.file("second"), *alone);
  EXPECT_EQ(chat_template_in(run_state(next->metadata, next->path).notes), chat_template_in(notes));
  for (const char* without : {"", "{}", "{\"template\": 3}", "[]", "{"})
    EXPECT_TRUE(chat_template_in(TaskNotes(without)).empty()) << without;
}

}  // namespace
}  // namespace skein::train
