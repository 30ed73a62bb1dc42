#include "skein/train/optim/lr.h"

#include <cmath>
#include <gtest/gtest.h>

#include "skein/core/error.h"

namespace skein::train {
namespace {

using Decay = LrConfig::Decay;
using Cooldown = LrConfig::Cooldown;

LrConfig made(Decay decay) {
  LrConfig c;
  c.lr = 1.0;
  c.min_lr = 0.1;
  c.warmup = 10;
  c.decay = decay;
  return c;
}

double rate(const LrConfig& c, int64_t x) { return learning_rate(c, {x - 1, (x - 1) * 7, 110, 7}); }

TEST(LearningRate, WarmsUpLinearly) {
  LrConfig c = made(Decay::cosine);
  EXPECT_DOUBLE_EQ(rate(c, 1), 0.1);
  EXPECT_DOUBLE_EQ(rate(c, 5), 0.5);
  EXPECT_DOUBLE_EQ(rate(c, 10), 1.0);
  c.start_lr = 0.5;
  EXPECT_DOUBLE_EQ(rate(c, 5), 0.75);
  c.warmup = 1000;
  EXPECT_DOUBLE_EQ(rate(c, 110), 0.5 + 0.5 * 0.11);
}

TEST(LearningRate, DecaysAsItsFormulaSays) {
  EXPECT_DOUBLE_EQ(rate(made(Decay::constant), 110), 1.0);
  EXPECT_DOUBLE_EQ(rate(made(Decay::linear), 60), 0.55);
  EXPECT_DOUBLE_EQ(rate(made(Decay::cosine), 60), 0.55);
  EXPECT_NEAR(rate(made(Decay::cosine), 35), 0.1 + 0.9 * (1 + std::cos(M_PI / 4)) / 2, 1e-15);
  EXPECT_DOUBLE_EQ(rate(made(Decay::inverse_sqrt), 40), 0.5);
  LrConfig floor = made(Decay::inverse_sqrt);
  floor.min_lr = 0.9;
  EXPECT_DOUBLE_EQ(rate(floor, 40), 0.9);
  for (Decay decay : {Decay::linear, Decay::cosine})
    EXPECT_NEAR(rate(made(decay), 110), 0.1, 1e-15);
}

TEST(LearningRate, StaysAtItsFloorPastTheEndOfTheDecay) {
  LrConfig c = made(Decay::cosine);
  c.decay_end = 50;
  EXPECT_DOUBLE_EQ(rate(c, 30), 0.55);
  EXPECT_DOUBLE_EQ(rate(c, 51), 0.1);
  EXPECT_DOUBLE_EQ(rate(c, 110), 0.1);
}

TEST(LearningRate, WarmupStableDecayFallsInItsCooldownOnly) {
  const std::pair<Cooldown, double> shapes[] = {
      {Cooldown::linear, 0.75},
      {Cooldown::cosine, (1 + std::cos(M_PI / 4)) / 2},
      {Cooldown::exponential, 2 * std::pow(0.5, 0.25) - 1},
      {Cooldown::one_minus_sqrt, 0.5}};
  for (const auto& [shape, quarter] : shapes) {
    LrConfig c = made(Decay::wsd);
    c.cooldown = 20;
    c.cooldown_shape = shape;
    EXPECT_DOUBLE_EQ(rate(c, 11), 1.0);
    EXPECT_DOUBLE_EQ(rate(c, 90), 1.0);
    EXPECT_NEAR(rate(c, 95), 0.1 + 0.9 * quarter, 1e-15);
    EXPECT_NEAR(rate(c, 110), 0.1, 1e-15);
  }
}

TEST(LearningRate, NoamIsItsFormula) {
  LrConfig c = made(Decay::noam);
  c.factor = 1.5;
  c.start_lr = 0.3;  // is not read, as lr and min_lr
  constexpr double kWidth = 512, kWarmup = 4000;
  c.warmup = 4000;
  const LrConfig curve = resolved(c, 512);
  const auto formula = [&](double n) {
    return 1.5 / std::sqrt(kWidth) * std::min(1 / std::sqrt(n), n * std::pow(kWarmup, -1.5));
  };
  for (int64_t n : {1, 17, 3999, 4000, 4001, 16000, 1000000}) {
    const double found = learning_rate(curve, {n - 1, 0, 20000, 7});
    EXPECT_NEAR(found, formula(static_cast<double>(n)), 1e-15 * 1.5) << n;
  }
  const double top = learning_rate(curve, {3999, 0, 20000, 7});
  EXPECT_DOUBLE_EQ(top, 1.5 / std::sqrt(kWidth * kWarmup));
  EXPECT_DOUBLE_EQ(learning_rate(curve, {0, 0, 20000, 7}), top / kWarmup);
  EXPECT_DOUBLE_EQ(learning_rate(curve, {15999, 0, 20000, 7}), top / 2);
  const LrConfig other = resolved(made(Decay::cosine), 512);
  EXPECT_EQ(other.lr, 1.0);
  EXPECT_EQ(other.decay, Decay::cosine);
}

TEST(LearningRate, TokensAndStepsGiveTheSameCurve) {
  for (Decay decay :
       {Decay::constant, Decay::linear, Decay::cosine, Decay::inverse_sqrt, Decay::wsd}) {
    LrConfig steps = made(decay), tokens = made(decay);
    steps.cooldown = 20;
    tokens.unit = LrConfig::Unit::tokens;
    tokens.warmup = 70;
    tokens.cooldown = 140;
    for (int64_t x = 1; x <= 110; ++x) EXPECT_DOUBLE_EQ(rate(steps, x), rate(tokens, x)) << x;
  }
}

TEST(LearningRate, InTokensKeepsItsCurveWhenTheBatchChanges) {
  LrConfig c = made(Decay::cosine);
  c.unit = LrConfig::Unit::tokens;
  c.warmup = 70;
  // 40 steps of 7 tokens, then 35 of 14: 770 tokens as before.
  for (int64_t step = 40; step < 75; ++step)
    EXPECT_DOUBLE_EQ(learning_rate(c, {step, 280 + (step - 40) * 14, 75, 14}),
                     rate(c, 42 + 2 * (step - 40)))
        << step;
}

TEST(LearningRate, WarnsWhereItIsNothingAtEveryStep) {
  const auto said = [](const LrConfig& c, const LrPosition& first) {
    testing::internal::CaptureStderr();
    warn_of_no_rate(c, first, "train.steps");
    return testing::internal::GetCapturedStderr();
  };
  LrConfig c = made(Decay::linear);
  c.min_lr = 0;
  c.warmup = 0;
  EXPECT_NE(said(c, {0, 0, 1, 7})
                .find("nothing will be learnt: the decay ends at lr.min_lr=0 with "
                      "step 1, the first that learns; give an lr.warmup of 1, "),
            std::string::npos);
  EXPECT_NE(said(c, {4, 28, 5, 7}).find("with step 5"), std::string::npos);
  EXPECT_EQ(said(c, {0, 0, 2, 7}), "") << "the first of two steps learns";
  c.warmup = 1;
  EXPECT_EQ(said(c, {0, 0, 1, 7}), "");
  c.warmup = 0;
  c.unit = LrConfig::Unit::tokens;
  EXPECT_NE(said(c, {0, 0, 1, 7}).find("an lr.warmup of 7, an lr.min_lr above 0"),
            std::string::npos);
  c.min_lr = 0.1;
  EXPECT_EQ(said(c, {0, 0, 1, 7}), "");
  c.min_lr = 0;
  c.decay = Decay::constant;
  EXPECT_EQ(said(c, {0, 0, 1, 7}), "");
}

void expect_refused(const LrConfig& c, const std::string& words) {
  try {
    check(resolved(c, 64), 110, 7);
    ADD_FAILURE() << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(LearningRate, RefusesWhatCannotBe) {
  LrConfig c = made(Decay::cosine);
  EXPECT_NO_THROW(check(c, 110, 7));
  c.min_lr = 2;
  expect_refused(c, "lr.min_lr=2 is above lr.lr=1");
  c = made(Decay::wsd);
  expect_refused(c, "lr.warmup=10 and lr.cooldown=0 steps against 110");
  c.cooldown = 101;
  expect_refused(c, "lr.cooldown=101 steps against 110");
  c = made(Decay::inverse_sqrt);
  c.warmup = 0;
  expect_refused(c, "needs lr.warmup above 0, not 0");
  c = made(Decay::noam);
  c.warmup = 0;
  expect_refused(c, "lr.decay=noam needs lr.warmup above 0, not 0");
  c = made(Decay::noam);
  c.factor = 0;
  expect_refused(c, "lr.factor=0 must be above 0");
  c = made(Decay::cosine);
  c.factor = 2;
  expect_refused(c, "lr.factor=2 is for lr.decay=noam");
  c = made(Decay::cosine);
  c.cooldown = 20;
  expect_refused(c, "lr.cooldown=20 and lr.cooldown_shape are for lr.decay=wsd");
  c.cooldown = 0;
  c.cooldown_shape = Cooldown::cosine;
  expect_refused(c, "lr.cooldown=0 and lr.cooldown_shape are for lr.decay=wsd");
  c = made(Decay::cosine);
  c.start_lr = 0.5;
  EXPECT_NO_THROW(check(c, 110, 7));
  c.warmup = 0;
  expect_refused(c, "lr.start_lr=0.5 is where a warm-up begins, but lr.warmup is 0");
  c = made(Decay::noam);
  c.unit = LrConfig::Unit::tokens;
  expect_refused(c, "lr.decay=noam counts steps; leave lr.unit=tokens out");
  c = made(Decay::cosine);
  c.decay_end = 10;
  expect_refused(c, "lr.decay_end=10 steps must lie after lr.warmup=10");
  c = made(Decay::cosine);
  c.lr = -1;
  expect_refused(c, "lr.lr=-1");
}

}  // namespace
}  // namespace skein::train
