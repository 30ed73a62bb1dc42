// What makes learning meaningless is seen, and told by its cause.
#include "skein/rlhf/policy/guards.h"

#include <gtest/gtest.h>

#include "skein/rlhf/policy/ppo_config.h"

#include "support/expect_error.h"

namespace skein::rlhf::policy {
namespace {

using test::expect_error;
using MissingEnd = ShapingConfig::MissingEnd;

// An answer of that many nats of k1, over two tokens.
Episode episode(double kl, double score = 0, bool ended = true) {
  Episode made;
  made.tokens = {3, 4};
  made.path.logp = {-1, -1};
  made.path.ref_logp = {-1 - kl, -1};
  made.path.ended = ended;
  made.path.score = score;
  return made;
}

template <class Body>
std::string said(Body&& body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

TEST(KlGuard, MeasuresTheMeanAndItsStandardError) {
  const KlFinding found = kl_finding({episode(1), episode(2), episode(3), episode(6)});
  EXPECT_DOUBLE_EQ(found.mean, 3);
  EXPECT_DOUBLE_EQ(found.error, std::sqrt(14.0 / 3 / 4));
  EXPECT_EQ(kl_finding({episode(2)}).error, 0);
}

TEST(KlGuard, HoldsOnlyWhatChanceCannotDoImpossible) {
  EXPECT_FALSE((KlFinding{0.5, 0.01}.impossible()));
  EXPECT_FALSE((KlFinding{-0.29, 0.1}.impossible()));
  EXPECT_TRUE((KlFinding{-0.31, 0.1}.impossible()));
  EXPECT_FALSE((KlFinding{-1e-9, 0}.impossible())) << "rounding";
}

// A policy that nearly always says the same may say it a little less often than its reference, and
// nothing else comes up: of what has 6.6% of the mass, 100 draws hold nothing in 0.135% of all
// cases.
TEST(KlGuard, KnowsThatRareAnswersAreNotDrawn) {
  RepeatedWarnings warnings;
  const auto found = [](size_t answers, double kl) {
    return kl_finding(std::vector<Episode>(answers, episode(kl)));
  };
  EXPECT_NEAR(found(100, -0.02).hidden, 0.066077, 1e-6);
  EXPECT_FALSE(found(100, -0.02).impossible());
  EXPECT_FALSE(found(8, -0.8).impossible());
  EXPECT_TRUE(found(8, -0.9).impossible());
  EXPECT_TRUE(found(512, -0.02).impossible());
  test::expect_words(said([&] { guard_kl(found(8, -1), 0, 1, warnings); }),
                     {"-1.0000 nats an answer, and the same of all of them"});
}

TEST(KlGuard, WarnsNamingTheCauseAndFailsAtTheThirdInARow) {
  RepeatedWarnings warnings;
  const KlFinding bad{-0.5, 0.1}, good{0.1, 0.1};
  int64_t in_a_row = 0;
  test::expect_words(
      said([&] { in_a_row = guard_kl(bad, in_a_row, 0.7, warnings); }),
      {"-0.5000 nats", "5.0 standard errors below 0", "another distribution", "temperature 0.7"});
  EXPECT_EQ(in_a_row, 1);
  EXPECT_EQ(said([&] { EXPECT_EQ(guard_kl(good, 2, 0.7, warnings), 0); }), "");
  said([&] { in_a_row = guard_kl(bad, in_a_row, 0.7, warnings); });
  EXPECT_EQ(in_a_row, 2);
  expect_error(ExitCode::failure, {"-0.5000 nats", "another distribution", "3 iterations in a row"},
               [&] { guard_kl(bad, in_a_row, 0.7, warnings); });
}

TEST(RatioGuard, FailsWhenThePolicySaysSomethingElseThanItDid) {
  guard_ratio(0, 1);
  expect_error(ExitCode::failure,
               {"iteration 7", "0.25 of the sampled tokens", "ratio not 1", "dropout",
                "nothing of this iteration is saved"},
               [] { guard_ratio(0.25, 7); });
}

TEST(ScoreGuard, WarnsOfScoresThatAreAllEqual) {
  RepeatedWarnings warnings;
  test::expect_words(
      said([&] {
        guard_scores({episode(0, 2), episode(0, 2)}, 0, 0, 8, MissingEnd::none, warnings);
      }),
      {"all 2 answers have the score 2", "nothing to learn"});
  EXPECT_EQ(said([&] {
              guard_scores({episode(0, 2), episode(0, 3)}, 0, 0, 8, MissingEnd::none, warnings);
            }),
            "");
}

TEST(ScoreGuard, WarnsOfFlatGroups) {
  RepeatedWarnings warnings;
  const std::vector<Episode> two{episode(0, 1), episode(0, 2)};
  test::expect_words(said([&] { guard_scores(two, 3, 4, 8, MissingEnd::none, warnings); }),
                     {"3 of 4 prompts", "equal rewards"});
  EXPECT_EQ(said([&] { guard_scores(two, 2, 4, 8, MissingEnd::none, warnings); }), "")
      << "half of them are not most";
}

TEST(ScoreGuard, WarnsOfAnswersThatAreCut) {
  RepeatedWarnings warnings;
  const std::vector<Episode> most{episode(0, 1, false), episode(0, 2, false), episode(0, 3)},
      half{episode(0, 1, false), episode(0, 2)};
  test::expect_words(said([&] { guard_scores(most, 0, 0, 8, MissingEnd::none, warnings); }),
                     {"2 of 3 answers were cut", "generate.max_tokens=8", "reward.missing_end"});
  EXPECT_EQ(said([&] { guard_scores(half, 0, 0, 8, MissingEnd::none, warnings); }), "");
  const auto told = [&](const std::vector<Episode>& episodes, MissingEnd missing_end) {
    return said([&] { guard_scores(episodes, 0, 0, 8, missing_end, warnings); });
  };
  EXPECT_EQ(told(most, MissingEnd::replace).find("missing_end"), std::string::npos)
      << "it is given already";
  const std::string some = told(most, MissingEnd::mask);
  test::expect_words(
      some, {"2 of 3", "reward.missing_end=mask has them count for nothing; allow longer"});
  const std::vector<Episode> all(most.begin(), most.begin() + 2);
  test::expect_words(told(all, MissingEnd::mask), {"2 of 2", "no answer is learnt from"});
}

// A run of thousands of iterations, each of which cuts its answers.
TEST(ScoreGuard, DoesNotFillTheLog) {
  RepeatedWarnings warnings;
  const std::vector<Episode> cut{episode(0, 1, false), episode(0, 2, false)};
  const std::string told = said([&] {
    for (int iteration = 0; iteration < 40; ++iteration)
      guard_scores(cut, 0, 0, 8, MissingEnd::none, warnings);
  });
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 10);
  test::expect_words(said([&] { warnings.finish(); }),
                     {"40 warnings of answers that are cut", "30 are not shown"});
}

class TuneConfigs : public ::testing::Test {
 protected:
  void expect_refused(std::initializer_list<std::string> words) {
    expect_error(ExitCode::usage, words, [this] { settle(config_); });
    config_ = tune_defaults();
  }

  TuneConfig config_ = tune_defaults();
};

TEST_F(TuneConfigs, AreSettledByTheAlgorithm) {
  settle(config_);
  EXPECT_EQ(config_.ppo.epochs, 4);
  EXPECT_EQ(config_.ppo.answers, 1);
  EXPECT_EQ(config_.run.train.steps, 100 * 4);
  config_ = tune_defaults();
  config_.ppo.algorithm = PpoConfig::Algorithm::grpo;
  config_.ppo.rollout_batch = 128;
  settle(config_);
  EXPECT_EQ(config_.ppo.epochs, 1);
  EXPECT_EQ(config_.ppo.answers, 4);
  EXPECT_EQ(config_.run.train.steps, 100 * 2);
}

TEST_F(TuneConfigs, ChargeTheKlOfGrpoWhereItIsAsked) {
  config_.ppo.algorithm = PpoConfig::Algorithm::grpo;
  settle(config_);
  EXPECT_EQ(config_.ppo.kl_loss, config_.kl.beta);
  EXPECT_FALSE(config_.kl_in_reward());
  config_ = tune_defaults();
  config_.ppo.algorithm = PpoConfig::Algorithm::grpo;
  config_.ppo.kl_in_reward = true;
  settle(config_);
  EXPECT_EQ(config_.ppo.kl_loss, 0) << "it is charged once";
  EXPECT_TRUE(config_.kl_in_reward());
  config_ = tune_defaults();
  config_.ppo.algorithm = PpoConfig::Algorithm::grpo;
  config_.ppo.kl_loss = 0;
  settle(config_);
  EXPECT_EQ(config_.ppo.kl_loss, 0) << "a 0 that was given";
}

TEST_F(TuneConfigs, KnowWhatMovesTheOptimum) {
  const auto caveats = [&] {
    settle(config_);
    return optimum_caveats(config_);
  };
  EXPECT_TRUE(caveats().empty()) << "PPO with k1 in the reward";
  config_.ppo.entropy = 0.01;
  config_.ppo.kl_loss = 0.1;
  config_.shaping.estimator = KlEstimator::k3;
  ASSERT_EQ(caveats().size(), 3u);
  test::expect_words(caveats()[0], {"ppo.kl_loss=0.1", "a second time"});
  test::expect_words(caveats()[1], {"ppo.entropy=0.01"});
  test::expect_words(caveats()[2], {"only k1 keeps the optimum"});
  config_ = tune_defaults();
  config_.ppo.algorithm = PpoConfig::Algorithm::grpo;
  ASSERT_EQ(caveats().size(), 1u);
  test::expect_words(caveats()[0], {"ppo.kl_loss=0.05", "estimator=k2", "as a loss",
                                    "give ppo.kl_in_reward=true and ppo.divide_by_std=false"});
  config_ = tune_defaults();
  config_.ppo.algorithm = PpoConfig::Algorithm::grpo;
  config_.ppo.kl_in_reward = true;
  EXPECT_TRUE(caveats().empty());
}

TEST_F(TuneConfigs, RefuseOptionsOfGrpoElsewhere) {
  config_.ppo.divide_by_std = false;
  expect_refused({"ppo.divide_by_std=false", "only ppo.algorithm=grpo"});
  config_.ppo.algorithm = PpoConfig::Algorithm::rloo;
  config_.ppo.kl_in_reward = true;
  expect_refused({"ppo.kl_in_reward=true", "only ppo.algorithm=grpo"});
  config_.ppo.algorithm = PpoConfig::Algorithm::grpo;
  config_.kl.control = KlConfig::Control::adaptive;
  expect_refused({"kl.control=adaptive", "grpo has it as a loss", "ppo.kl_in_reward=true"});
}

TEST_F(TuneConfigs, SayOnceThatDropoutIsLeftOut) {
  config_.run.model.dropout = 0.1;
  test::expect_words(said([this] { settle(config_); }), {"dropout", "0.1", "ratio"});
  EXPECT_EQ(config_.run.model.dropout, 0);
  EXPECT_EQ(said([this] { settle(config_); }), "");
}

TEST_F(TuneConfigs, WarnWhereTheOnlyUpdateHasNoRate) {
  config_.ppo.algorithm = PpoConfig::Algorithm::rloo;
  config_.ppo.iterations = 1;
  test::expect_words(said([this] { settle(config_); }),
                     {"nothing will be learnt", "with step 1", "or more ppo.iterations"});
  config_.ppo.iterations = 2;
  EXPECT_EQ(said([this] { settle(config_); }), "");
  config_ = tune_defaults();
  config_.ppo.epochs = 1;
  config_.critic.warmup = 99;
  test::expect_words(said([this] { settle(config_); }), {"with step 100, the first that learns"});
}

TEST_F(TuneConfigs, RefuseCountsThatDoNotDivide) {
  config_.ppo.rollout_batch = 96;
  expect_refused({"ppo.rollout_batch=96", "train.global_batch=64"});
  config_.ppo.answers = 5;
  expect_refused({"ppo.rollout_batch=64", "5 answers"});
  config_.ppo.iterations = 0;
  expect_refused({"ppo.iterations=0", "at least 1"});
  config_.ppo.epochs = -1;
  expect_refused({"ppo.epochs=-1"});
  config_.ppo.algorithm = PpoConfig::Algorithm::rloo;
  config_.ppo.answers = 1;
  expect_refused({"ppo.answers=1", "at least 2"});
  config_.critic.warmup = 100;
  expect_refused({"critic.warmup=100", "ppo.iterations"});
}

TEST_F(TuneConfigs, RefuseNumbersOutOfTheirRange) {
  config_.ppo.lambda = -0.1;
  expect_refused({"ppo.lambda=-0.1"});
  config_.ppo.stop_kl = -1;
  expect_refused({"ppo.stop_kl=-1"});
  config_.ppo.kl_loss = -0.1;
  expect_refused({"ppo.kl_loss=-0.1"});
  config_.critic.rules.coefficient = 0;
  expect_refused({"critic.coefficient=0"});
  config_.critic.rules.clip = -0.2;
  expect_refused({"critic.clip=-0.2"});
  config_.ppo.clip.low = 1.5;
  expect_refused({"ppo.clip_low"});
  config_.kl.beta = -1;
  expect_refused({"kl.beta"});
  config_.kl.control = KlConfig::Control::adaptive;
  config_.kl.horizon = 10;
  expect_refused({"kl.horizon"});
  config_.ppo.save_rollouts = true;
  config_.run.run.dir = "";
  expect_refused({"ppo.save_rollouts=true", "run.dir is empty"});
}

}  // namespace
}  // namespace skein::rlhf::policy
