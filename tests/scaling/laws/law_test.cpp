#include "skein/scaling/laws/law.h"

#include <cmath>
#include <gtest/gtest.h>

#include "scaling/published_law.h"
#include "support/expect_error.h"

namespace skein::scaling {
namespace {

using test::expect_error;
using test::published_law;

TEST(ChinchillaLaw, IsTheSumOfItsTerms) {
  const ChinchillaLaw law{1.5, 100, 200, 0.5, 0.25};
  EXPECT_DOUBLE_EQ(law.loss(1e4, 1e8), 1.5 + 1 + 2);
  EXPECT_DOUBLE_EQ(law.n_exponent(), 0.25 / 0.75);
}

TEST(Optimum, IsLowerThanItsNeighboursAtTheSameBudget) {
  for (const char* name : {"chinchilla", "chinchilla-replication", "muennighoff"}) {
    const ChinchillaLaw& law = published_law(name).law;
    for (double k : {6.0, 9.5}) {
      const Optimum best = optimum(law, 1e21, k);
      EXPECT_NEAR(k * best.n * best.d / 1e21, 1, 1e-12);
      EXPECT_DOUBLE_EQ(best.loss, law.loss(best.n, best.d));
      for (double factor : {0.999, 1.001})
        EXPECT_GT(law.loss(best.n * factor, best.d / factor), best.loss);
      // First order: doubling C multiplies N* by 2^a.
      EXPECT_NEAR(std::log2(optimum(law, 2e21, k).n / best.n), law.n_exponent(), 1e-12);
    }
  }
}

TEST(Optimum, OfThePublishedLawsIsWhatTheirReadersFound) {
  const Optimum first = optimum(published_law("chinchilla").law, 5.88e23);
  EXPECT_NEAR(first.n, 4.07e10, 0.01e10);
  EXPECT_NEAR(first.ratio(), 59, 0.5);
  const Optimum rounded = optimum({1.69, 406.4, 410.7, 0.34, 0.28}, 5.88e23);
  EXPECT_NEAR(rounded.n, 3.25e10, 0.01e10);
  EXPECT_NEAR(rounded.ratio(), 93, 0.5);
}

TEST(Optimum, RefusesWhatHasNone) {
  expect_error(ExitCode::usage, {"no optimum", "beta -0.1"}, [] {
    optimum({1, 1, 1, 0.3, -0.1}, 1e20);
  });
  expect_error(ExitCode::usage, {"FLOPs"}, [] { optimum({1, 1, 1, 0.3, 0.3}, 0); });
}

TEST(PowerLaws, AreWhatTheyAreCalled) {
  EXPECT_DOUBLE_EQ((PowerLaw{3, 2}.at(4)), 48);
  EXPECT_DOUBLE_EQ((OffsetPowerLaw{1, 3, 0.5}.at(9)), 2);
}

TEST(KaplanLaw, HasThePowersAsItsLimits) {
  const KaplanLaw law{0.076, 0.103, 6.4e13, 1.8e13};
  EXPECT_NEAR(law.loss(1e9, 1e300), std::pow(6.4e13 / 1e9, 0.076), 1e-12);
  EXPECT_NEAR(law.loss(1e300, 1e10), std::pow(1.8e13 / 1e10, 0.103), 1e-9);
  EXPECT_GT(law.loss(1e9, 1e10), std::pow(6.4e13 / 1e9, 0.076));
}

// The formula of the paper with its digits: A 521.0, B 1487.7, E 1.8692, G^2 = 0.0510.
TEST(DataLimitedLaw, WeighsWhatIsRepeatedLess) {
  DataLimitedLaw law;
  law.law = published_law("muennighoff").law;
  const double d = 1.78e11, unique = d / 7, n = 8.7e9;
  const double d_worth = unique * (1 + 15.39 * (1 - std::exp(-6 / 15.39)));
  EXPECT_NEAR(law.effective_tokens(d, unique) / d_worth, 1, 1e-12);
  EXPECT_NEAR(law.effective_tokens(d, unique), 1.5177e11, 1e7);
  EXPECT_NEAR(law.effective_parameters(n, unique), 5.8331e9, 1e6);
  EXPECT_NEAR(law.loss(n, d, unique), 2.22576, 1e-5);
  EXPECT_LT(law.loss(n, d, d), law.loss(n, d, unique));
  EXPECT_GT(law.loss(n, d, unique / 2), law.loss(n, d, unique));
}

TEST(DataLimitedLaw, IsChinchillasForDataThatIsSeenOnce) {
  DataLimitedLaw law;
  law.law = published_law("muennighoff").law;
  const Optimum best = optimum(law.law, 1e20);
  EXPECT_NEAR(law.loss(best.n, best.d, best.d), best.loss, 1e-12);
  EXPECT_NEAR(law.loss(best.n / 3, best.d, 2 * best.d), law.law.loss(best.n / 3, best.d), 1e-12);
  // The size that is optimal for U tokens is the last that counts in full.
  EXPECT_NEAR(law.effective_parameters(best.n * 0.999, best.d) / (best.n * 0.999), 1, 1e-12);
  EXPECT_LT(law.effective_parameters(best.n * 1.1, best.d) / (best.n * 1.1), 1);
  expect_error(ExitCode::usage, {"0 unique tokens"}, [&] { law.loss(1e9, 1e9, 0); });
}

TEST(OverTrainingLaw, IsChinchillasWithEqualExponentsForSixND) {
  const OverTrainingLaw law{1.8, 40, 90, 0.15};
  const double n = 3e8, d = 2e10, c = 6 * n * d;
  const ChinchillaLaw same{1.8, 90 * std::pow(6, -0.15), 40 * std::pow(6, -0.15), 0.3, 0.3};
  // M^h C^-h = (6 N^2)^-h and M^-h C^-h = (6 D^2)^-h.
  EXPECT_NEAR(law.loss(c, d / n),
              1.8 + 40 * std::pow(6 * n * n, -0.15) + 90 * std::pow(6 * d * d, -0.15), 1e-12);
  EXPECT_NEAR(law.loss(c, d / n), 1.8 + same.b * std::pow(n, -0.3) + same.a * std::pow(d, -0.3),
              1e-12);
}

TEST(PublishedLaws, SayWhereTheyAreFrom) {
  EXPECT_EQ(published_laws().size(), 4);
  for (const PublishedLaw& law : published_laws())
    EXPECT_NE(law.source.find("arXiv"), std::string::npos) << law.name;
  const ChinchillaLaw& digits = published_law("chinchilla").law;
  EXPECT_EQ(digits.e, 1.6934);
  EXPECT_EQ(digits.alpha, 0.3392);
  EXPECT_EQ(digits.beta, 0.2849);
}

}  // namespace
}  // namespace skein::scaling
