#include "skein/rlhf/policy/kl.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "rlhf/token_losses.h"
#include "support/expect_error.h"

namespace skein::rlhf::policy {
namespace {

using test::expect_error;

constexpr KlEstimator kAll[] = {KlEstimator::k1, KlEstimator::k2, KlEstimator::k3,
                                KlEstimator::abs};

TEST(KlEstimates, AreTheirFormulas) {
  EXPECT_DOUBLE_EQ(kl_estimate(KlEstimator::k1, -0.5), -0.5);
  EXPECT_DOUBLE_EQ(kl_estimate(KlEstimator::k2, -0.5), 0.125);
  EXPECT_NEAR(kl_estimate(KlEstimator::k3, -0.5), std::exp(0.5) - 1.5, 1e-15);
  EXPECT_DOUBLE_EQ(kl_estimate(KlEstimator::abs, -0.5), 0.5);
  for (const KlEstimator kind : kAll) EXPECT_EQ(kl_estimate(kind, 0), 0);
}

// Four arms: the mean over pi of k1 and of k3 is KL(pi, pi_0), that of k2 and abs is not.
TEST(KlEstimates, OneAndThreeAreUnbiased) {
  const std::vector<double> pi = {0.7, 0.1, 0.15, 0.05}, reference = {0.25, 0.25, 0.1, 0.4};
  double kl = 0, mean[4] = {};
  for (size_t i = 0; i < pi.size(); ++i) {
    const double d = std::log(pi[i] / reference[i]);
    kl += pi[i] * d;
    for (int kind = 0; kind < 4; ++kind) mean[kind] += pi[i] * kl_estimate(kAll[kind], d);
  }
  EXPECT_NEAR(mean[0], kl, 1e-15);
  EXPECT_NEAR(mean[2], kl, 1e-15);
  EXPECT_GT(std::abs(mean[1] - kl), 0.02);
  EXPECT_GT(std::abs(mean[3] - kl), 0.02);
}

// For logits z of pi: the mean over pi of derivative(d) times the score of the token is the
// gradient that is claimed.
TEST(KlEstimates, DerivativesAreTheGradientsOfTheClaimedDivergences) {
  const std::vector<double> logits = {0.3, -0.2, 0.9}, reference = {0.2, 0.5, 0.3};
  const auto policy = [](const std::vector<double>& z) {
    double sum = 0;
    std::vector<double> p;
    for (const double value : z) sum += std::exp(value);
    for (const double value : z) p.push_back(std::exp(value) / sum);
    return p;
  };
  const auto divergence = [](const std::vector<double>& p, const std::vector<double>& q) {
    double sum = 0;
    for (size_t i = 0; i < p.size(); ++i) sum += p[i] * std::log(p[i] / q[i]);
    return sum;
  };
  const std::vector<double> pi = policy(logits);
  for (size_t at = 0; at < logits.size(); ++at) {
    double one = 0, two = 0, three = 0;
    for (size_t i = 0; i < pi.size(); ++i) {
      const double d = std::log(pi[i] / reference[i]), score = (i == at ? 1.0 : 0.0) - pi[at];
      one += pi[i] * kl_derivative(KlEstimator::k1, d) * score;
      two += pi[i] * kl_derivative(KlEstimator::k2, d) * score;
      three += pi[i] * kl_derivative(KlEstimator::k3, d) * score;
    }
    std::vector<double> up = logits, down = logits;
    up[at] += 1e-6;
    down[at] -= 1e-6;
    EXPECT_NEAR(one, 0, 1e-15);
    EXPECT_NEAR(two,
                (divergence(policy(up), reference) - divergence(policy(down), reference)) / 2e-6,
                1e-9);
    EXPECT_NEAR(three,
                (divergence(reference, policy(up)) - divergence(reference, policy(down))) / 2e-6,
                1e-9);
  }
}

TEST(KlEstimates, DerivativesAgreeWithDifferences) {
  for (const KlEstimator kind : kAll)
    for (const double d : {-30.0, -2.0, -0.3, 0.4, 3.0, 30.0}) {
      const double slope = (kl_estimate(kind, d + 1e-5) - kl_estimate(kind, d - 1e-5)) / 2e-5;
      EXPECT_NEAR(kl_derivative(kind, d), slope, 1e-6 * std::max(1.0, std::abs(slope)))
          << static_cast<int>(kind) << " at " << d;
    }
  EXPECT_EQ(kl_derivative(KlEstimator::abs, 0), 0);
}

TEST(KlEstimates, StayFiniteAtExtremes) {
  for (const KlEstimator kind : kAll)
    for (const double d : {-1000.0, 1000.0}) {
      EXPECT_TRUE(std::isfinite(kl_estimate(kind, d)));
      EXPECT_TRUE(std::isfinite(kl_derivative(kind, d)));
    }
}

TEST(KlEstimates, SayWhatTheyAreNotFor) {
  EXPECT_EQ(kl_caveat(KlEstimator::k1), "");
  for (const KlEstimator kind : {KlEstimator::k2, KlEstimator::k3, KlEstimator::abs})
    EXPECT_NE(kl_caveat(kind).find("only k1"), std::string::npos);
}

KlConfig adaptive(double beta, double target, double horizon) {
  return {beta, KlConfig::Control::adaptive, target, horizon};
}

TEST(KlCoefficient, FollowsItsTarget) {
  const KlConfig config = adaptive(0.2, 6, 10000);
  EXPECT_NEAR(next_beta(config, 0.2, 6.6, 500), 0.2 * 1.005, 1e-15);  // e = 0.1
  EXPECT_EQ(next_beta(config, 0.3, 6, 500), 0.3);
  EXPECT_NEAR(next_beta(config, 0.3, 60, 1000), 0.3 * 1.02, 1e-15);  // e is cut to 0.2
  EXPECT_NEAR(next_beta(config, 0.3, -5, 1000), 0.3 * 0.98, 1e-15);  // to -0.2
}

TEST(KlCoefficient, StaysWhereItIsFixed) {
  EXPECT_EQ(next_beta(KlConfig{.beta = 0.05}, 0.05, 100, 512), 0.05);
  EXPECT_EQ(next_beta(KlConfig{.beta = 0}, 0, 100, 512), 0);
}

TEST(KlCoefficient, GoesOnFromAStoredState) {
  EXPECT_EQ(resumed_beta(adaptive(0.2, 6, 1000), 0.31), 0.31);
  EXPECT_EQ(resumed_beta(KlConfig{.beta = 0.05}, 0.31), 0.05);
  expect_error(ExitCode::usage, {"stored state", "nan"},
               [] { resumed_beta(adaptive(0.2, 6, 1000), std::nan("")); });
}

TEST(KlCoefficient, RefusesWhatCannotBe) {
  expect_error(ExitCode::usage, {"kl.beta=-1"}, [] { check(KlConfig{.beta = -1}, 1); });
  expect_error(ExitCode::usage, {"kl.beta=0", "adaptive"}, [] { check(adaptive(0, 6, 100), 1); });
  expect_error(ExitCode::usage, {"kl.target=0"}, [] { check(adaptive(0.1, 0, 100), 1); });
  expect_error(ExitCode::usage, {"kl.horizon=-3"}, [] { check(adaptive(0.1, 6, -3), 1); });
  expect_error(ExitCode::usage, {"kl.horizon=100", "500 episodes", "100"},
               [] { check(adaptive(0.1, 6, 100), 500); });
  EXPECT_NO_THROW(check(adaptive(0.1, 6, 101), 500));
  EXPECT_NO_THROW(check(KlConfig{.target = 0, .horizon = 0}, 500));
}

TEST(KlCoefficient, RefusesAKlThatIsNoNumber) {
  expect_error(ExitCode::failure, {"512 responses is nan"},
               [] { next_beta(KlConfig{}, 0.05, std::nan(""), 512); });
  expect_error(ExitCode::failure, {"inf"},
               [] { next_beta(KlConfig{}, 0.05, std::numeric_limits<double>::infinity(), 512); });
}

}  // namespace
}  // namespace skein::rlhf::policy
