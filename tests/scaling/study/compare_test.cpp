#include <cmath>

#include "skein/scaling/study/study.h"

#include "scaling/chinchilla_points.h"

namespace skein::scaling::study {
namespace {

using test::drawn_points;
using test::point_estimate;

TEST(CompareLaws, FindsTheLawThatTheRunsFollow) {
  const auto points = drawn_points({1.7, 400, 90000, 0.34, 0.55}, 5, 6, 0.0005, 1);
  const std::vector<HeldOutFit> laws = compare_laws(points, point_estimate());
  ASSERT_EQ(laws.size(), 5);
  for (const HeldOutFit& law : laws) {
    EXPECT_TRUE(law.converged) << law.law << ": " << law.problem;
    EXPECT_NEAR(law.budget / points.back().c, 1, 1e-9);
    EXPECT_GE(law.worst_error, std::abs(law.mean_error));
  }
  EXPECT_EQ(laws[0].fitted, 24);
  EXPECT_EQ(laws[0].held_out, 6);
  EXPECT_LT(laws[0].worst_error, 0.003);
  for (size_t i = 1; i < laws.size(); ++i)
    EXPECT_GT(laws[i].worst_error, laws[0].worst_error) << laws[i].law;
  // A pure power has no E to level off at.
  EXPECT_LT(laws[4].mean_error, 0);
  EXPECT_EQ(laws[4].fitted, 4);
}

TEST(CompareLaws, SaysWhatCouldNotBeFitted) {
  const std::vector<HeldOutFit> laws =
      compare_laws(drawn_points({1.7, 400, 900, 0.34, 0.33}, 2, 8, 0.001, 1), point_estimate());
  EXPECT_FALSE(laws[0].converged);
  EXPECT_NE(laws[0].problem.find("one budget only"), std::string::npos) << laws[0].problem;
  EXPECT_TRUE(std::isnan(laws[0].mean_error));
  EXPECT_NE(laws[4].problem.find("too few budgets"), std::string::npos) << laws[4].problem;
}

}  // namespace
}  // namespace skein::scaling::study
