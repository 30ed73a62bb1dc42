#include "skein/rlhf/policy/losses.h"

#include <cmath>
#include <gtest/gtest.h>

#include "skein/core/numbers.h"

#include "rlhf/token_losses.h"
#include "support/expect_error.h"

namespace skein::rlhf::policy {
namespace {

using test::expect_error;

const PolicyClip kClip{0.2, 0.3, 0};
const PolicyClip kDual{0.2, 0.3, 3};

TEST(PolicyLoss, IsTheClippedSurrogate) {
  const auto at = [](double ratio, double advantage) {
    return policy_loss(std::log(ratio) - 2, -2, advantage, kClip);
  };
  EXPECT_NEAR(at(1.1, 2).loss, -2.2, 1e-14);  // inside
  EXPECT_NEAR(at(1.5, 2).loss, -2.6, 1e-14);  // too far up for a good token
  EXPECT_NEAR(at(0.5, 2).loss, -1, 1e-14);    // below, and good: plain
  EXPECT_NEAR(at(0.5, -2).loss, 1.6, 1e-14);  // too far down for a bad token
  EXPECT_NEAR(at(1.5, -2).loss, 3, 1e-14);    // above, and bad: plain
  EXPECT_TRUE(at(1.5, 2).clipped);
  EXPECT_TRUE(at(0.5, -2).clipped);
  for (const auto& [ratio, advantage] :
       {std::pair{1.1, 2.0}, {0.5, 2.0}, {1.5, -2.0}, {0.9, -2.0}, {1.5, 0.0}})
    EXPECT_FALSE(at(ratio, advantage).clipped) << ratio << " " << advantage;
}

TEST(PolicyLoss, OfUnchangedPolicyHasRatioOneToTheBit) {
  for (const double logp : {-0.1, -3.7, -1e-9, -88.8}) {
    const PolicyLoss found = policy_loss(logp, logp, 1.7, kClip);
    EXPECT_EQ(found.ratio, 1);
    EXPECT_EQ(found.loss, -1.7);
    EXPECT_EQ(found.derivative, -1.7);
    EXPECT_FALSE(found.clipped);
  }
}

TEST(PolicyLoss, DualClipBoundsBadTokensOnly) {
  EXPECT_NEAR(policy_loss(std::log(5.0), 0, -2, kDual).loss, 6, 1e-14);
  EXPECT_TRUE(policy_loss(std::log(5.0), 0, -2, kDual).dual_clipped);
  EXPECT_EQ(policy_loss(std::log(5.0), 0, -2, kDual).derivative, 0);
  EXPECT_NEAR(policy_loss(std::log(2.5), 0, -2, kDual).loss, 5, 1e-14);
  EXPECT_FALSE(policy_loss(std::log(2.5), 0, -2, kDual).dual_clipped);
  EXPECT_NEAR(policy_loss(std::log(5.0), 0, 2, kDual).loss, -2.6, 1e-14);
  EXPECT_NEAR(policy_loss(std::log(5.0), 0, -2, kClip).loss, 10, 1e-13);
}

TEST(PolicyLoss, DerivativeAgreesWithDifferences) {
  for (const PolicyClip& clip : {kClip, kDual})
    for (const double advantage : {-1.5, 0.7})
      for (const double difference : {-25.0, -1.0, -0.1, 0.0, 0.1, 0.5, 1.0, 2.0, 25.0}) {
        const double old = -1.3, step = 1e-6, logp = old + difference;
        const double slope = (policy_loss(logp + step, old, advantage, clip).loss -
                              policy_loss(logp - step, old, advantage, clip).loss) /
                             (2 * step);
        EXPECT_NEAR(policy_loss(logp, old, advantage, clip).derivative, slope,
                    1e-6 * std::max(1.0, std::abs(slope)))
            << advantage << " at " << difference;
      }
}

TEST(PolicyLoss, StaysFiniteAtExtremes) {
  for (const double advantage : {-3.0, 3.0})
    for (const double difference : {-100.0, 100.0, 1e6}) {
      const PolicyLoss found = policy_loss(difference, 0, advantage, kClip);
      EXPECT_TRUE(std::isfinite(found.loss) && std::isfinite(found.derivative) &&
                  std::isfinite(found.ratio));
    }
  EXPECT_NEAR(policy_loss(100, 0, -3, kClip).loss, 3 * std::exp(20.0), 1);
  EXPECT_EQ(policy_loss(100, 0, -3, kDual).loss, 9);
}

TEST(PolicyLoss, RefusesClipsThatCannotBe) {
  EXPECT_NO_THROW(check(kDual));
  expect_error(ExitCode::usage, {"ppo.clip_low=1.5"}, [] { check(PolicyClip{1.5, 0.2, 0}); });
  expect_error(ExitCode::usage, {"ppo.clip_low=0"}, [] { check(PolicyClip{0, 0.2, 0}); });
  expect_error(ExitCode::usage, {"ppo.clip_high=0"}, [] { check(PolicyClip{0.2, 0, 0}); });
  expect_error(ExitCode::usage, {"ppo.dual_clip=0.5", "above 1"}, [] {
    check(PolicyClip{0.2, 0.2, 0.5});
  });
}

TEST(ValueLoss, TakesTheLargerOfPlainAndClipped) {
  EXPECT_DOUBLE_EQ(value_loss(1, 0, 3, 0).loss, 2);
  EXPECT_DOUBLE_EQ(value_loss(1, 0, 3, 0).derivative, -2);
  EXPECT_DOUBLE_EQ(value_loss(1, 0, 3, 0.25).loss,
                   0.5 * 2.75 * 2.75);  // moved towards the target further than allowed
  EXPECT_TRUE(value_loss(1, 0, 3, 0.25).clipped);
  EXPECT_EQ(value_loss(1, 0, 3, 0.25).derivative, 0);
  EXPECT_DOUBLE_EQ(value_loss(-1, 0, 3, 0.25).loss, 8);  // moved away: plain
  EXPECT_FALSE(value_loss(-1, 0, 3, 0.25).clipped);
  EXPECT_DOUBLE_EQ(value_loss(0.1, 0, 3, 0.25).derivative, -2.9);
}

TEST(ValueLoss, DerivativeAgreesWithDifferences) {
  for (const double range : {0.0, 0.2})
    for (const double value : {-2.0, -0.1, 0.15, 0.4, 0.9, 1.5}) {
      const double slope = (value_loss(value + 1e-6, 0, 0.8, range).loss -
                            value_loss(value - 1e-6, 0, 0.8, range).loss) /
                           2e-6;
      EXPECT_NEAR(value_loss(value, 0, 0.8, range).derivative, slope, 1e-8)
          << value << " within " << range;
    }
}

TEST(Sigmoid, IsExactAtExtremes) {
  EXPECT_NEAR(log_sigmoid(-40), -40, 1e-15);
  EXPECT_NEAR(log_sigmoid(40) / -std::exp(-40.0), 1, 1e-12);
  EXPECT_DOUBLE_EQ(sigmoid(-800), 0);
  EXPECT_DOUBLE_EQ(sigmoid(2) + sigmoid(-2), 1);
}

}  // namespace
}  // namespace skein::rlhf::policy
