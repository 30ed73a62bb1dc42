#include <cmath>
#include <gtest/gtest.h>

#include "skein/rlhf/dpo/losses.h"

#include "support/expect_error.h"

namespace skein::rlhf::dpo {
namespace {

using test::expect_error;

TEST(DpoLoss, IsItsFormula) {
  const DpoLoss found = dpo_loss({-10, -12, -11, -9}, {0.1, 0});
  EXPECT_NEAR(found.chosen_reward, 0.1, 1e-15);
  EXPECT_NEAR(found.rejected_reward, -0.3, 1e-15);
  EXPECT_NEAR(found.loss, std::log(1 + std::exp(-0.4)), 1e-15);
  EXPECT_NEAR(found.derivative, -0.1 / (1 + std::exp(0.4)), 1e-15);
  EXPECT_NEAR(dpo_loss({-10, -12, -11, -9}, {0.1, 0.2}).loss,
              0.8 * std::log(1 + std::exp(-0.4)) + 0.2 * std::log(1 + std::exp(0.4)), 1e-15);
  EXPECT_NEAR(dpo_loss({-5, -5, -5, -5}, {0.1, 0}).loss, std::log(2.0), 1e-15);
}

TEST(DpoLoss, DerivativesAgreeWithDifferences) {
  for (const double smoothing : {0.0, 0.1})
    for (const double chosen : {-30.0, -10.0, -3.0}) {
      const DpoConfig config{0.4, smoothing};
      const auto loss = [&](double first, double second) {
        return dpo_loss({first, second, -11, -9}, config).loss;
      };
      const double derivative = dpo_loss({chosen, -8, -11, -9}, config).derivative;
      EXPECT_NEAR(derivative, (loss(chosen + 1e-5, -8) - loss(chosen - 1e-5, -8)) / 2e-5, 1e-9);
      EXPECT_NEAR(-derivative, (loss(chosen, -8 + 1e-5) - loss(chosen, -8 - 1e-5)) / 2e-5, 1e-9);
    }
}

TEST(DpoLoss, StaysFiniteAtExtremes) {
  for (const double gap : {-1e5, 1e5}) {
    const DpoLoss found = dpo_loss({gap, 0, 0, 0}, {1, 0.1});
    EXPECT_TRUE(std::isfinite(found.loss) && std::isfinite(found.derivative));
  }
  EXPECT_DOUBLE_EQ(dpo_loss({-1e5, 0, 0, 0}, {1, 0}).loss, 1e5);
  EXPECT_EQ(dpo_loss({1e5, 0, 0, 0}, {1, 0}).loss, 0);
}

TEST(DpoLoss, RefusesConfigsThatCannotBe) {
  expect_error(ExitCode::usage, {"dpo.beta=0"}, [] { check(DpoConfig{0, 0}); });
  expect_error(ExitCode::usage, {"dpo.label_smoothing=0.5"}, [] { check(DpoConfig{0.1, 0.5}); });
  expect_error(ExitCode::usage, {"dpo.gamma=-1"}, [] { check(DpoConfig{.gamma = -1}); });
  expect_error(ExitCode::usage, {"dpo.desirable_weight=0"},
               [] { check(DpoConfig{.desirable_weight = 0}); });
  expect_error(ExitCode::usage, {"dpo.undesirable_weight=nan"},
               [] { check(DpoConfig{.undesirable_weight = std::nan("")}); });
}

struct Reference {
  DpoConfig config;
  PairLogp pair;
  double loss, derivative;
};

constexpr PairLogp kSums{-10, -12, -11, -9}, kMeans{-0.7, -1.1, 0, 0};

// By tools/preference_losses.py: the papers' formulas in decimals of 50 digits.
const Reference kReferences[] = {
    {{.beta = 0.1}, kSums, 0.51301525239995262, -0.04013123398875480},
    {{.beta = 0.7}, kSums, 0.05903282628797140, -0.04012692312920812},
    {{.beta = 0.1, .kind = DpoKind::ipo}, kSums, 1, -2},
    {{.beta = 0.7, .kind = DpoKind::ipo}, kSums, 10.79591836734693878, 6.57142857142857143},
    {{.beta = 2, .kind = DpoKind::simpo, .gamma = 1},
     kMeans,
     0.79813886938159184,
     -1.09966799462495582},
    {{.beta = 2.5, .kind = DpoKind::simpo, .gamma = 0},
     kMeans,
     0.31326168751822283,
     -0.67235355342498780}};

TEST(PairLoss, HasItsReferenceValues) {
  for (const Reference& one : kReferences) {
    const DpoLoss found = pair_loss(one.pair, one.config);
    EXPECT_NEAR(found.loss, one.loss, 1e-13) << name_of(one.config.kind);
    EXPECT_NEAR(found.derivative, one.derivative, 1e-13) << name_of(one.config.kind);
  }
}

TEST(PairLoss, DerivativesAgreeWithDifferences) {
  for (const Reference& one : kReferences)
    for (const double shift : {-20.0, -1.0, 0.0, 3.0}) {
      const auto loss = [&](double chosen, double rejected) {
        PairLogp pair = one.pair;
        pair.chosen += shift + chosen, pair.rejected += rejected;
        return pair_loss(pair, one.config);
      };
      const double slope = loss(0, 0).derivative, near = 1e-7 * std::max(1.0, std::abs(slope));
      EXPECT_NEAR(slope, (loss(1e-5, 0).loss - loss(-1e-5, 0).loss) / 2e-5, near);
      EXPECT_NEAR(-slope, (loss(0, 1e-5).loss - loss(0, -1e-5).loss) / 2e-5, near);
    }
}

TEST(PairLoss, OfAPolicyThatIsTheReferenceIsKnown) {
  const PairLogp same{-5, -7, -5, -7};
  EXPECT_EQ(dpo_loss(same, {}).loss, std::log(2.0));
  EXPECT_EQ(ipo_loss(same, {}).loss, 25) << "(1 / (2 beta))^2";
  EXPECT_EQ(ipo_loss(same, {}).derivative, -10);
  EXPECT_EQ(simpo_loss({-0.5, -0.5, 0, 0}, {.gamma = 0}).loss, std::log(2.0));
  EXPECT_EQ(kto_loss(0, true, 0, {}).loss, 0.5);
  EXPECT_EQ(kto_loss(0, false, 0, {.undesirable_weight = 3}).loss, 1.5);
}

TEST(SimpoLoss, KnowsNoReference) {
  const DpoConfig config{.beta = 2, .kind = DpoKind::simpo};
  const DpoLoss found = simpo_loss({-0.7, -1.1, -5, -3}, config);
  EXPECT_EQ(found.loss, simpo_loss(kMeans, config).loss);
  EXPECT_DOUBLE_EQ(found.chosen_reward, -1.4);
  EXPECT_DOUBLE_EQ(found.rejected_reward, -2.2);
  EXPECT_NEAR(simpo_loss({1e5, 0, 0, 0}, config).loss, 0, 1e-15);
  EXPECT_DOUBLE_EQ(simpo_loss({-1e5, 0, 0, 0}, config).loss, 2e5 + 1);
}

TEST(KtoLoss, HasItsReferenceValues) {
  struct Case {
    bool desirable;
    double point, weight, loss, derivative;
  };
  // As above, for a log-ratio of 2.5.
  for (const Case& one : {Case{true, 0, 1, 0.43782349911420190, -0.02461340827375983},
                          {true, 1.5, 1.2, 0.57002497502527202, -0.02992512482314704},
                          {false, 1.5, 0.8, 0.41998334998315199, 0.01995008321543136},
                          {false, 4, 1, 0.46257015465625045, 0.02485990066775430}}) {
    DpoConfig config{.kind = DpoKind::kto};
    (one.desirable ? config.desirable_weight : config.undesirable_weight) = one.weight;
    const KtoLoss found = kto_loss(2.5, one.desirable, one.point, config);
    EXPECT_NEAR(found.loss, one.loss, 1e-15);
    EXPECT_NEAR(found.derivative, one.derivative, 1e-15);
    EXPECT_EQ(found.reward, 0.25);
  }
}

TEST(KtoLoss, StaysWithinItsWeightAndFinite) {
  const DpoConfig config{.beta = 1, .kind = DpoKind::kto, .desirable_weight = 2};
  EXPECT_EQ(kto_loss(1e6, true, 0, config).loss, 0);
  EXPECT_EQ(kto_loss(-1e6, true, 0, config).loss, 2);
  EXPECT_EQ(kto_loss(-1e6, true, 0, config).derivative, 0);
  EXPECT_EQ(kto_loss(1e6, false, 0, config).loss, 1);
}

// What the options come to; the texts of errors.
DpoConfig settled(const std::vector<std::string>& args) {
  DpoConfig config;
  Options options("test", "");
  bind(options, config);
  options.parse(args);
  settle(options, config);
  return config;
}

TEST(DpoOptions, HangOnTheLoss) {
  EXPECT_EQ(settled({}).beta, 0.1);
  EXPECT_EQ(settled({"--dpo.loss=ipo"}).beta, 0.1);
  EXPECT_EQ(settled({"--dpo.loss=simpo"}).beta, 2);
  EXPECT_EQ(settled({"--dpo.loss=simpo", "--dpo.beta=0.1"}).beta, 0.1);
  EXPECT_EQ(settled({"--dpo.loss=kto", "--dpo.desirable_weight=1.5"}).desirable_weight, 1.5);
  EXPECT_TRUE(settled({"--dpo.loss=ipo", "--dpo.token_mean", "--dpo.gamma=1"}).token_mean)
      << "what is given at its usual value, as in config.ini, is in nobody's way";
  const auto refused = [](const std::vector<std::string>& args,
                          std::initializer_list<std::string> words) {
    expect_error(ExitCode::usage, words, [&] { settled(args); });
  };
  refused({"--dpo.gamma=0.5"},
          {"dpo.gamma=0.5 was given, but dpo.loss=dpo does not read it", "dpo.loss=simpo"});
  refused({"--dpo.loss=ipo", "--dpo.label_smoothing=0.1"},
          {"dpo.label_smoothing=0.1", "dpo.loss=ipo", "dpo.loss=dpo"});
  refused({"--dpo.loss=simpo", "--dpo.token_mean"}, {"dpo.token_mean=true", "dpo.loss=ipo"});
  refused({"--dpo.undesirable_weight=2"}, {"dpo.undesirable_weight=2", "take dpo.loss=kto"});
  refused({"--dpo.loss=orpo"}, {"dpo.loss", "orpo", "simpo"});
}

}  // namespace
}  // namespace skein::rlhf::dpo
