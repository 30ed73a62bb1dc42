#include "skein/rlhf/policy/advantage.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "support/expect_error.h"

namespace skein::rlhf::policy {
namespace {

using test::expect_error;
using MissingEnd = ShapingConfig::MissingEnd;

Trajectory response(std::vector<double> logp, std::vector<double> ref_logp, double score,
                    bool ended = true) {
  Trajectory made;
  made.logp = std::move(logp);
  made.ref_logp = std::move(ref_logp);
  made.score = score;
  made.ended = ended;
  return made;
}

// Of all vectors, as a run of n tokens has them.
Trajectory random_response(std::mt19937& random, size_t n) {
  std::normal_distribution<double> normal;
  Trajectory made;
  for (size_t t = 0; t < n; ++t) {
    for (auto field :
         {&Trajectory::logp, &Trajectory::ref_logp, &Trajectory::values, &Trajectory::rewards})
      (made.*field).push_back(normal(random));
  }
  return made;
}

TEST(ShapedRewards, ChargeEachTokenAndScoreTheLast) {
  Trajectory three = response({-1, -2, -0.5}, {-1.5, -1, -0.5}, 2);
  shape_rewards(three, 0.1, {});
  EXPECT_NEAR(three.rewards[0], -0.05, 1e-15);
  EXPECT_NEAR(three.rewards[1], 0.1, 1e-15);
  EXPECT_NEAR(three.rewards[2], 2, 1e-15);
  EXPECT_NEAR(response_kl(three), -0.5, 1e-15);
  EXPECT_NEAR(response_reward(three), 2 + 0.1 * 0.5, 1e-15);
  Trajectory one = response({-1}, {-3}, 0.5);
  shape_rewards(one, 0.25, {});
  EXPECT_NEAR(one.rewards[0], 0.5 - 0.25 * 2, 1e-15);
}

TEST(ShapedRewards, ChargeByTheEstimatorThatIsAsked) {
  ShapingConfig config;
  config.estimator = KlEstimator::k2;
  Trajectory two = response({-1, -2}, {-3, -2}, 1);
  shape_rewards(two, 0.5, config);
  EXPECT_NEAR(two.rewards[0], -1, 1e-15);
  EXPECT_NEAR(two.rewards[1], 1, 1e-15);
}

TEST(ShapedRewards, TreatWhatHasNotEnded) {
  const auto last = [](MissingEnd kind, bool ended) {
    ShapingConfig config;
    config.missing_end = kind;
    config.missing_end_value = 3;
    config.score_clip = 5;
    Trajectory one = response({-1}, {-1}, 7, ended);
    shape_rewards(one, 0.1, config);
    EXPECT_EQ(one.counted, kind != MissingEnd::mask || ended);
    return one.rewards[0];
  };
  for (const MissingEnd kind :
       {MissingEnd::none, MissingEnd::replace, MissingEnd::subtract, MissingEnd::mask})
    EXPECT_EQ(last(kind, true), 5);
  EXPECT_EQ(last(MissingEnd::none, false), 5);
  EXPECT_EQ(last(MissingEnd::replace, false), -3);
  EXPECT_EQ(last(MissingEnd::subtract, false), 2);
  EXPECT_EQ(last(MissingEnd::mask, false), 5);
}

TEST(ShapedRewards, CutScoresToBothSides) {
  EXPECT_EQ(shaped_score({.score_clip = 2}, -9, true), -2);
  EXPECT_EQ(shaped_score({.score_clip = 2}, 1.5, true), 1.5);
  EXPECT_EQ(shaped_score({}, -9, true), -9);
}

TEST(ShapedRewards, RefuseWhatIsNoResponseOrNoNumber) {
  Trajectory none;
  expect_error(ExitCode::internal, {"n > 0"}, [&] { shape_rewards(none, 0.1, {}); });
  Trajectory wrong = response({-1, NAN}, {-1, -1}, 0);
  expect_error(ExitCode::failure, {"token 2 of a response of 2", "nan under the policy"},
               [&] { shape_rewards(wrong, 0.1, {}); });
  wrong = response({-1, -1}, {-INFINITY, -1}, 0);
  expect_error(ExitCode::failure, {"token 1", "-inf under the reference"},
               [&] { shape_rewards(wrong, 0.1, {}); });
  wrong = response({-1}, {-1}, INFINITY);
  expect_error(ExitCode::failure, {"score", "inf"}, [&] { shape_rewards(wrong, 0.1, {}); });
  wrong = response({-1, -1}, {-1}, 0);
  expect_error(ExitCode::internal, {"1 against 2"}, [&] { shape_rewards(wrong, 0.1, {}); });
  expect_error(ExitCode::usage, {"reward.score_clip=-1"},
               [] { check(ShapingConfig{.score_clip = -1}); });
  expect_error(ExitCode::usage, {"reward.missing_end_value=nan"},
               [] { check(ShapingConfig{.missing_end_value = NAN}); });
}

// A_t as the sum of all later deltas, each discounted by gamma lambda for every step between.
TEST(Advantages, AreDiscountedSumsOfDeltas) {
  std::mt19937 random(1);
  for (const size_t n : {1, 2, 7}) {
    Trajectory made = random_response(random, n);
    const double gamma = 0.9, lambda = 0.7;
    estimate_advantages(made, gamma, lambda);
    for (size_t t = 0; t < n; ++t) {
      double expected = 0;
      for (size_t later = t; later < n; ++later) {
        const double next = later + 1 < n ? made.values[later + 1] : 0;
        expected += std::pow(gamma * lambda, static_cast<double>(later - t)) *
                    (made.rewards[later] + gamma * next - made.values[later]);
      }
      EXPECT_NEAR(made.advantages[t], expected, 1e-12) << t << " of " << n;
      EXPECT_NEAR(made.returns[t], expected + made.values[t], 1e-12) << t << " of " << n;
    }
  }
}

TEST(Advantages, WithLambdaOneAreRewardsToComeLessTheValue) {
  std::mt19937 random(2);
  Trajectory made = random_response(random, 5);
  estimate_advantages(made, 1, 1);
  double to_come = 0;
  for (size_t t = 5; t-- > 0;) {
    to_come += made.rewards[t];
    EXPECT_NEAR(made.returns[t], to_come, 1e-12);
  }
  estimate_advantages(made, 1, 0);
  EXPECT_NEAR(made.advantages[1], made.rewards[1] + made.values[2] - made.values[1], 1e-15);
}

TEST(Advantages, RefuseWhatIsNoNumberAndNoResponse) {
  std::mt19937 random(3);
  Trajectory made = random_response(random, 3);
  made.values[1] = NAN;
  expect_error(ExitCode::failure, {"critic", "token 2 of a response of 3", "nan"},
               [&] { estimate_advantages(made, 1, 0.95); });
  Trajectory none;
  expect_error(ExitCode::internal, {"n > 0"}, [&] { estimate_advantages(none, 1, 0.95); });
}

// Two responses of 1 and 3 tokens: 1, 2 3 6; mean 3, variance (4 + 1 + 0 + 9) / 4.
std::vector<Trajectory> one_and_three() {
  std::vector<Trajectory> made(2);
  made[0].logp = {0};
  made[0].advantages = {1};
  made[1].logp = {0, 0, 0};
  made[1].advantages = {2, 3, 6};
  return made;
}

TEST(Whitening, IsOverAllTokensOfAllResponses) {
  std::vector<Trajectory> all = one_and_three();
  whiten(all);
  EXPECT_NEAR(all[0].advantages[0], -2 / std::sqrt(3.5 + 1e-8), 1e-15);
  EXPECT_NEAR(all[1].advantages[2], 3 / std::sqrt(3.5 + 1e-8), 1e-15);
}

TEST(Whitening, LeavesOutWhatDoesNotCount) {
  std::vector<Trajectory> all = one_and_three();
  all.insert(all.begin() + 1, Trajectory{});
  all[1].logp = {0, 0};
  all[1].advantages = {100, -900};
  all[1].counted = false;
  whiten(all);
  EXPECT_NEAR(all[2].advantages[0], -1 / std::sqrt(3.5 + 1e-8), 1e-15);
  EXPECT_EQ(all[1].advantages[1], -900);
}

TEST(Whitening, OfEqualNumbersAndOfNoneIsFinite) {
  std::vector<Trajectory> all = one_and_three();
  for (Trajectory& trajectory : all) trajectory.advantages.assign(trajectory.logp.size(), 4);
  whiten(all);
  EXPECT_EQ(all[1].advantages[0], 0);
  for (Trajectory& trajectory : all) trajectory.counted = false;
  all[0].advantages = {7};
  whiten(all);
  EXPECT_EQ(all[0].advantages[0], 7);
}

TEST(ExplainedVariance, TellsGoodCriticsFromConstantOnes) {
  std::vector<Trajectory> all = one_and_three();
  for (Trajectory& trajectory : all) trajectory.returns = trajectory.values = trajectory.advantages;
  EXPECT_DOUBLE_EQ(explained_variance(all), 1);
  for (Trajectory& trajectory : all) trajectory.values.assign(trajectory.logp.size(), 2);
  EXPECT_NEAR(explained_variance(all), 0, 1e-15);
  all[0].values = {5};  // R - V: -4, 0 1 4; mean 0.25, variance 33/4 - 1/16
  EXPECT_NEAR(explained_variance(all), 1 - (8.25 - 0.0625) / 3.5, 1e-14);
  for (Trajectory& trajectory : all) trajectory.returns.assign(trajectory.logp.size(), 2);
  EXPECT_EQ(explained_variance(all), 0);
}

TEST(GroupBaselines, AreTheirFormulas) {
  const std::vector<double> rewards = {1, 0, 5, 2, 2, 2};
  const GroupAdvantages rloo = group_advantages(GroupBaseline::leave_one_out, rewards, 3);
  EXPECT_DOUBLE_EQ(rloo.advantages[0], 1 - 2.5);
  EXPECT_DOUBLE_EQ(rloo.advantages[1], 0 - 3);
  EXPECT_DOUBLE_EQ(rloo.advantages[2], 5 - 0.5);
  const GroupAdvantages plain = group_advantages(GroupBaseline::mean, rewards, 3);
  EXPECT_DOUBLE_EQ(plain.advantages[2], 3);
  const GroupAdvantages grpo = group_advantages(GroupBaseline::mean_and_std, rewards, 3);
  EXPECT_NEAR(grpo.advantages[2], 3 / (std::sqrt((1.0 + 4 + 9) / 2) + 1e-4), 1e-15);
  for (const GroupAdvantages& found : {rloo, plain, grpo}) {
    EXPECT_EQ(found.flat_groups, 1);
    for (size_t i = 3; i < 6; ++i) EXPECT_EQ(found.advantages[i], 0);
  }
}

TEST(GroupBaselines, GiveFlatGroupsExactlyNothing) {
  const std::vector<double> rewards(7, 0.1);  // their mean is not 0.1 in floating point
  for (const GroupBaseline kind :
       {GroupBaseline::leave_one_out, GroupBaseline::mean_and_std, GroupBaseline::mean})
    for (const double advantage : group_advantages(kind, rewards, 7).advantages)
      EXPECT_EQ(advantage, 0);
}

TEST(GroupBaselines, NeedTwoResponses) {
  expect_error(ExitCode::usage, {"1 responses to a prompt", "at least 2"},
               [] { group_advantages(GroupBaseline::mean, std::vector<double>{1}, 1); });
  expect_error(ExitCode::internal, {"1 against 0"}, [] {
    group_advantages(GroupBaseline::mean, std::vector<double>{1, 2, 3}, 2);
  });
}

TEST(GroupBaselines, AreSpreadOverTheTokens) {
  std::vector<Trajectory> all = one_and_three();
  spread(all, std::vector<double>{0.5, -1});
  EXPECT_EQ(all[0].advantages, (std::vector<double>{0.5}));
  EXPECT_EQ(all[1].advantages, (std::vector<double>{-1, -1, -1}));
}

}  // namespace
}  // namespace skein::rlhf::policy
