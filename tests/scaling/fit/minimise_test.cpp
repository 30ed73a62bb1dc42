#include "skein/scaling/fit/minimise.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "scaling/chinchilla_points.h"

namespace skein::scaling::fit {
namespace {

double rosenbrock(const Unknowns& at, Unknowns& gradient) {
  const double left = 1 - at[0], right = at[1] - at[0] * at[0];
  gradient = {-2 * left - 400 * at[0] * right, 200 * right, 0, 0, 0};
  return left * left + 100 * right * right;
}

// Of all forms: terms with slopes, one slope for two terms, a fixed slope, a multiplier.
std::vector<PowerSum> forms() {
  std::vector<double> x, y, loss;
  for (size_t i = 0; i < 24; ++i) {
    x.push_back(2 * normal_at(1, 0, i));
    y.push_back(2 * normal_at(1, 1, i));
    loss.push_back(1 + 0.3 * normal_at(1, 2, i));
  }
  const std::vector<double> weight(24, 1.0);
  PowerSum::Term first = power_term("first", 0, x), second = power_term("second", 1, y),
                 same = power_term("second", 0, y), fixed = fixed_term("second", y);
  const PowerSum::Term constant = constant_term("constant", 24);
  return {{{first, second, constant}, {"alpha", "beta"}, -1, loss, weight},
          {{first, same, constant}, {"alpha"}, -1, loss, weight},
          {{first, fixed}, {"ratio", "q"}, 1, loss, weight},
          {{first, constant}, {"p"}, -1, loss, weight}};
}

TEST(PowerSum, HasTheDerivativesOfItsValues) {
  const Unknowns at{0.3, -0.4, 0.2, 0.7, 0.4};
  for (const PowerSum& sum : forms()) {
    for (double delta : {1e-1, std::numeric_limits<double>::infinity()}) {
      const SecondOrder there = second_order(sum, {delta}, at);
      Unknowns gradient{};
      EXPECT_NEAR(objective(sum, {delta}, at, &gradient), there.value, 1e-12);
      EXPECT_NEAR(objective(sum, {delta}, at), there.value, 1e-12);
      for (size_t i = 0; i < static_cast<size_t>(sum.unknowns()); ++i) {
        Unknowns up = at, down = at, gradient_up{}, gradient_down{};
        const double h = 1e-6;
        up[i] += h, down[i] -= h;
        const double slope = (objective(sum, {delta}, up, &gradient_up) -
                              objective(sum, {delta}, down, &gradient_down)) /
                             (2 * h);
        EXPECT_NEAR(gradient[i], slope, 1e-6);
        EXPECT_NEAR(gradient[i], there.gradient[i], 1e-12);
        for (size_t j = 0; j < static_cast<size_t>(sum.unknowns()); ++j)
          EXPECT_NEAR(there.hessian[i][j], (gradient_up[j] - gradient_down[j]) / (2 * h), 1e-4)
              << i << j;
      }
    }
  }
}

TEST(PowerSum, TakesOnlyTheCentreOff) {
  for (const PowerSum& sum : forms()) {
    const Unknowns at{0.3, -0.4, 0.2, 0.7, 0.4}, plain = uncentred(sum, at);
    for (size_t k = 0; k < sum.terms.size(); ++k) {
      const PowerSum::Term& term = sum.terms[k];
      const double slope =
          term.slope < 0 ? term.fixed : at[sum.terms.size() + static_cast<size_t>(term.slope)];
      EXPECT_NEAR(at[k] + slope * term.z[5], plain[k] + slope * (term.z[5] + term.centre), 1e-12);
      double total = 0;
      for (double one : term.z) total += one;
      EXPECT_NEAR(total, 0, 1e-12);
    }
  }
}

TEST(Criterion, IsHubersOverItsDelta) {
  const Criterion huber{0.5}, squares{std::numeric_limits<double>::infinity()};
  EXPECT_DOUBLE_EQ(huber.value(0.25), 0.0625);
  EXPECT_DOUBLE_EQ(huber.value(-2), 1.75);
  EXPECT_DOUBLE_EQ(huber.slope(-2), -1);
  EXPECT_DOUBLE_EQ(huber.majorant(2), 0.5);
  EXPECT_DOUBLE_EQ(squares.value(3), 4.5);
  EXPECT_DOUBLE_EQ(squares.slope(3), 3);
}

TEST(Minimise, FollowsACurvedValley) {
  const Minimum found = minimise(rosenbrock, {-1.2, 1}, 2, 1e-10);
  EXPECT_TRUE(found.converged) << found.problem;
  EXPECT_TRUE(found.moved);
  EXPECT_NEAR(found.at[0], 1, 1e-9);
  EXPECT_NEAR(found.at[1], 1, 1e-9);
  EXPECT_LE(found.gradient_norm, 1e-10);
}

TEST(Minimise, SaysThatItDidNotLeaveItsStart) {
  const Slope wrong_sign = [](const Unknowns& at, Unknowns& gradient) {
    const double value = rosenbrock(at, gradient);
    for (double& one : gradient) one = -one;
    return value;
  };
  const Minimum stuck = minimise(wrong_sign, {-1.2, 1}, 2, 1e-10);
  EXPECT_FALSE(stuck.converged);
  EXPECT_FALSE(stuck.moved);
  EXPECT_NE(stuck.problem.find("did not leave its start"), std::string::npos) << stuck.problem;
  const Minimum nowhere =
      minimise([](const Unknowns&, Unknowns& gradient) { return gradient.fill(1), std::nan(""); },
               {}, 2, 1e-10);
  EXPECT_FALSE(nowhere.converged);
}

TEST(Minimise, SaysThatItRanOutOfSteps) {
  const Minimum early = minimise(rosenbrock, {-1.2, 1}, 2, 1e-10, 3);
  EXPECT_FALSE(early.converged);
  EXPECT_TRUE(early.moved);
  EXPECT_NE(early.problem.find("after 3 steps"), std::string::npos) << early.problem;
}

TEST(Polish, SaysThatItDidNotMove) {
  const PowerSum sum = forms()[0];
  const Minimum stuck = polish(sum, {1e-3}, {0.3, -0.4, 0.2, 0.7, 0.4}, 0);
  EXPECT_FALSE(stuck.converged);
  EXPECT_NE(stuck.problem.find("did not leave its start"), std::string::npos) << stuck.problem;
}

TEST(MinimiseBySimplex, NeedsNoDerivatives) {
  const auto value = [](const Unknowns& at) {
    Unknowns ignored{};
    return 1 + rosenbrock(at, ignored);
  };
  const Minimum found = minimise_by_simplex(value, {-1.2, 1}, 2, 0.1, 1e-14);
  EXPECT_TRUE(found.converged);
  EXPECT_NEAR(found.at[0], 1, 1e-4);
  EXPECT_NEAR(found.at[1], 1, 1e-4);
}

TEST(SmallMatrix, SolvesAndHasItsEigenvalues) {
  const UnknownsSquared matrix{{{4, 1, 0.5}, {1, 3, -0.25}, {0.5, -0.25, 2}}};
  Unknowns x{};
  ASSERT_TRUE(solve_positive(matrix, {1, 2, 3}, 3, x));
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(matrix[i][0] * x[0] + matrix[i][1] * x[1] + matrix[i][2] * x[2],
                static_cast<double>(i + 1), 1e-12);
  const std::vector<double> values = eigenvalues(matrix, 3);
  EXPECT_NEAR(values[0] + values[1] + values[2], 9, 1e-12);
  EXPECT_NEAR(values[0] * values[1] * values[2],
              4 * (6 - 0.0625) - 1 * (2 + 0.125) + 0.5 * (-0.25 - 1.5), 1e-12);
  EXPECT_FALSE(solve_positive({{{1, 2}, {2, 1}}}, {1, 1}, 2, x));
}

}  // namespace
}  // namespace skein::scaling::fit
