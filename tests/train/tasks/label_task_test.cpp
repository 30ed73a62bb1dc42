// Heads of labels learn what can be learnt, to the same bits at every layout, and go on where they
// were.
#include <gtest/gtest.h>

#include "skein/core/json.h"
#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"
#include "skein/train/tasks/finetune.h"
#include "skein/train/tasks/label_scores.h"

#include "support/expect_error.h"
#include "train/label_fixture.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::LabelTasks;
using test::small_task;

TEST_F(LabelTasks, ClassesOfTextsAndPairsAreLearnt) {
  for (bool encoder : {true, false})
    for (bool pairs : {false, true}) {
      FinetuneConfig c = small_task(problem_.classes(pairs), LabelKind::classify, encoder);
      if (pairs) c.task.columns.pair = "2", c.task.columns.label = "3";
      const Scores scores = run(c).validation;
      EXPECT_EQ(value(scores, "accuracy"), 1) << encoder << pairs << scores.text;
      EXPECT_EQ(scores.quality, 1);
      EXPECT_NE(scores.text.find("64 examples"), std::string::npos) << scores.text;
    }
}

TEST_F(LabelTasks, NumbersAreLearntInTheirUnits) {
  for (bool encoder : {true, false}) {
    FinetuneConfig c = small_task(problem_.numbers(), LabelKind::regress, encoder);
    c.run.model.dropout = 0;
    c.task.metric = LabelMetric::mse;
    const Scores scores = run(c).validation;
    EXPECT_GT(value(scores, "pearson"), 0.95) << scores.text;
    EXPECT_LT(value(scores, "mse"), 0.1 * value(scores, "mse_of_mean")) << scores.text;
    EXPECT_NEAR(value(scores, "mse_of_mean"), 98, 40) << scores.text;
    EXPECT_EQ(scores.quality, -value(scores, "mse"));
  }
}

TEST_F(LabelTasks, TagsAreLearntAlsoInWindows) {
  for (bool encoder : {true, false})
    for (int64_t length : {0, 5}) {
      FinetuneConfig c = small_task(problem_.tags(), LabelKind::tag, encoder);
      c.task.length = length;
      const Scores scores = run(c).validation;
      EXPECT_EQ(value(scores, "f1"), 1) << encoder << length << scores.text;
      EXPECT_NE(scores.text.find("64 sentences"), std::string::npos) << scores.text;
    }
}

TEST_F(LabelTasks, GiveEqualBitsAtEveryLayout) {
  struct Case {
    LabelKind kind;
    bool encoder;
    DType precision;
    int64_t frozen;
    Pool pool = Pool::first;
  };
  for (const Case& each :
       {Case{LabelKind::classify, true, DType::f32, -1},
        Case{LabelKind::regress, true, DType::f32, -1, Pool::mean},
        Case{LabelKind::tag, false, DType::f32, -1}, Case{LabelKind::tag, true, DType::bf16, 0},
        Case{LabelKind::regress, false, DType::bf16, 1}}) {
    const std::string file = each.kind == LabelKind::tag       ? problem_.tags()
                             : each.kind == LabelKind::regress ? problem_.numbers()
                                                               : problem_.classes(false);
    FinetuneConfig c = small_task(file, each.kind, each.encoder);
    c.run.train.steps = 6;
    c.run.train.precision = each.precision;
    c.run.train.frozen_layers = each.frozen;
    bert_options(c.run.model).pool = each.pool;
    expect_equal_bits(c, fmt::format("case{}{}", static_cast<int>(each.kind), each.encoder),
                      {{2, 1, 2}, {4, 1, 1, true}, {1, 2, 1}, {2, 2, 2, true}, {4, 2, 1}});
  }
}

// Nothing is smoothed where a model is judged, and a rate so low moves nothing: both runs are
// judged alike.
TEST_F(LabelTasks, SmoothedTargetsAreForTrainingAlone) {
  FinetuneConfig c = small_task(problem_.classes(false), LabelKind::classify, true);
  c.run.train.steps = 1;
  c.run.lr.lr = 1e-30;
  c.run.optimizer.weight_decay = 0;
  c.run.model.dropout = 0;
  const Ended plain = run(c);
  c.run.loss.label_smoothing = 0.3;
  const Ended smoothed = run(c, 1, "smoothed");
  EXPECT_EQ(smoothed.validation.values, plain.validation.values);
  EXPECT_NE(smoothed.finished.losses, plain.finished.losses);
  std::ifstream lines(folder_.file("smoothed") + "/metrics.jsonl");
  std::string line;
  std::getline(lines, line);
  const auto told = nlohmann::json::parse(line);
  EXPECT_EQ(told["plain_loss"], plain.finished.losses[0]);
  EXPECT_EQ(told["loss"], smoothed.finished.losses[0]);
  EXPECT_FALSE(told.contains("perplexity"));
}

TEST_F(LabelTasks, SmoothedTargetsGiveEqualBitsAtEveryLayout) {
  FinetuneConfig c = small_task(problem_.tags(), LabelKind::tag, true);
  c.run.train.steps = 4;
  c.run.loss.label_smoothing = 0.3;
  expect_equal_bits(c, "smoothed", {{2, 1, 2}, {1, 2, 1}, {2, 2, 2, true}});
}

// Of a text, whatever longer one it is computed beside.
TEST_F(LabelTasks, BlocksOfTextsGiveEqualBitsAtEveryLayout) {
  FinetuneConfig c = small_task(problem_.tags(), LabelKind::tag, true);
  c.run.train.steps = 4;
  c.run.model.attention.kinds = {"bigbird"};
  c.run.model.attention.other.block = 1;
  c.run.model.attention.other.random = 0;
  expect_equal_bits(c, "blocks", {{2, 1, 2}, {1, 1, 1}, {2, 2, 2, true}});
}

TEST_F(LabelTasks, TensorParallelRanksAgree) {
  FinetuneConfig c = small_task(problem_.tags(), LabelKind::tag, true);
  c.run.train.steps = 6;
  c.run.model.dropout = 0;
  expect_near_at_tensor_parallel(c);
}

// The validation that the run was stopped after counts once, and the best weights are those of the
// best step.
TEST_F(LabelTasks, GoOnWithEqualBitsAndWithWhatPatienceIsLeft) {
  FinetuneConfig c = small_task(problem_.classes(false), LabelKind::classify, true);
  c.run.train.steps = 60;
  c.run.lr.decay = LrConfig::Decay::constant;
  c.run.validation.every = 4;
  c.run.validation.patience = 3;
  c.run.checkpoint.every = 4;
  c.run.checkpoint.keep = 100;
  const Ended expected = run(c, 1, "expected");
  ASSERT_LT(expected.step, 60) << "patience did not end it";
  c.run.parallel.pipeline = 2;
  expect_equal_rest(c, 2, expected, expected.step - 4);
  EXPECT_EQ(first_difference(state_of(folder_.file("run") + "/best"),
                             state_of(folder_.file("expected") + "/best")),
            "");
}

TEST(LabelUnits, AreTheMeanAndDeviationOfTheNumbers) {
  LabelHead head;
  take_units(head, {1e9, 1e9 + 0.5, 1e9 + 1});
  EXPECT_DOUBLE_EQ(head.mean, 1e9 + 0.5);
  EXPECT_DOUBLE_EQ(head.deviation, std::sqrt(0.5 / 3));
  take_units(head, std::vector<double>(7, 0.1));
  EXPECT_EQ(head.deviation, 1) << "though their mean is rounded";
  test::expect_error(ExitCode::usage, {"the numbers of data.train are too large"}, [&] {
    take_units(head, {0, 1e200});
  });
}

}  // namespace
}  // namespace skein::train
