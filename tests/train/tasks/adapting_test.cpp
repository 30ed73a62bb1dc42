// What tasks have in common that begin from another task's model.
#include "skein/train/tasks/adapting.h"

#include <cmath>
#include <gtest/gtest.h>

namespace skein::train {
namespace {

PretrainConfig left_open() {
  PretrainConfig c = adapting_defaults({"runs/x", 8, 1e-3});
  EXPECT_EQ(c.train.steps, 0);
  EXPECT_EQ(c.validation.every, -1);
  return c;
}

TEST(Adapting, TakesAsLongAsTheDataSays) {
  PretrainConfig c = left_open();
  fill_in(c, {"x.epochs", 1.5, 20});
  EXPECT_EQ(c.train.steps, 4) << "3.75";
  EXPECT_EQ(c.validation.every, 3) << "2.5, once a pass";
  c = left_open();
  fill_in(c, {"x.epochs", 1, 100, 4});
  EXPECT_EQ(c.train.steps, 13) << "12.5";
  EXPECT_EQ(c.validation.every, 4) << "3.125, four times a pass";
  c = left_open();
  fill_in(c, {"x.epochs", 0.001, 20, 4});
  EXPECT_EQ(c.train.steps, 1);
  EXPECT_EQ(c.validation.every, 1);
}

TEST(Adapting, LeavesWhatWasGiven) {
  PretrainConfig c = left_open();
  c.train.steps = 7;
  c.validation.every = 0;
  fill_in(c, {"x.epochs", std::nan(""), 20});
  EXPECT_EQ(c.train.steps, 7);
  EXPECT_EQ(c.validation.every, 0);
}

// The last step of a decay to 0 has the rate 0; it must not be the only one.
TEST(Adapting, WarmsUpForAStepAtLeast) {
  PretrainConfig c = left_open();
  fill_in_finetuning(c, 1, 8);
  EXPECT_EQ(c.train.steps, 1);
  EXPECT_EQ(c.lr.warmup, 1);
  EXPECT_EQ(learning_rate(c.lr, {0, 0, 1, 8}), 1e-3);
  c = left_open();
  fill_in_finetuning(c, 1, 8 * 39);
  EXPECT_EQ(c.lr.warmup, 3) << "3.9";
  c = left_open();
  c.train.steps = 99;
  fill_in_warmup(c, 3);
  EXPECT_EQ(c.lr.warmup, 2) << "2.97";
  c.lr.warmup = 0;
  fill_in_warmup(c, 3);
  EXPECT_EQ(c.lr.warmup, 0) << "as it was given";
}

TEST(Adapting, RefusesPassesThatCannotBeMade) {
  const auto with = [](double passes) {
    return refusal_of([&] {
      PretrainConfig c = left_open();
      fill_in(c, {"x.epochs", passes, 16});
    });
  };
  EXPECT_EQ(with(0), "x.epochs=0 must be above 0");
  EXPECT_EQ(with(-1), "x.epochs=-1 must be above 0");
  EXPECT_EQ(with(std::nan("")), "x.epochs=nan must be above 0");
  EXPECT_EQ(with(1e12), "x.epochs=1000000000000 are 2e+12 steps; at most 1e+12 can be made");
}

TEST(Adapting, GoesOnOnlyBehindItsOwnCheckpoints) {
  require_run_of("fine-tuning", true, "runs/a");
  EXPECT_EQ(refusal_of([] { require_run_of("fine-tuning", false, "runs/a"); }),
            "runs/a is no run of fine-tuning; give another run.dir");
  require_unchanged("x.length", 3, 3, "runs/a");
  EXPECT_EQ(refusal_of([] { require_unchanged("x.length", 3, 4, "runs/a"); }),
            "runs/a was trained with x.length=3, now it is 4; give the same, or another run.dir to "
            "begin anew");
}

TEST(Adapting, GoesOnWithTheSameTemplateHoweverItIsWritten) {
  const text::StoredTemplate mine(
      R"({"user": {"open": "U"}, "assistant": {"open": "A", "close": "{eos}"}, "end": "{eos}"})"),
      otherwise(
          R"({"assistant": {"close": "{eos}", "open": "A"}, "end": "{eos}", "user": {"open": "U"}})"),
      other(
          R"({"user": {"open": "V"}, "assistant": {"open": "A", "close": "{eos}"}, "end": "{eos}"})");
  require_unchanged(mine, otherwise, "runs/a");
  EXPECT_EQ(refusal_of([&] { require_unchanged(mine, other, "runs/a"); }),
            "runs/a was trained with another chat template; give the same chat.template, or "
            "another run.dir to begin anew");
}

TEST(Adapting, RefusesWhatIsDrawnOtherwiseThanScored) {
  ModelConfig model;
  require_scored_as_drawn(model, "skein x");
  model.attention.other.same_bucket = false;
  require_scored_as_drawn(model, "skein x");
  model.attention.kinds = {"full", "lsh"};
  EXPECT_NE(refusal_of([&] {
              require_scored_as_drawn(model, "skein x");
            }).find("skein x would score answers by another distribution"),
            std::string::npos);
  model.attention.other.same_bucket = true;
  require_scored_as_drawn(model, "skein x");
}

TEST(Adapting, WarnsOfOtherSamples) {
  testing::internal::CaptureStderr();
  warn_of_other_samples("runs/a");
  warn_of_other_samples("runs/b", "pairs");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("warning: the training samples are not those that runs/a was trained on; the "
                      "run goes on with the new ones\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("the training pairs are not those that runs/b"), std::string::npos) << said;
}

}  // namespace
}  // namespace skein::train
