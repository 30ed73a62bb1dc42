// The kernels of what tokens cost a policy and its critic, against the same losses written out.
#include <gtest/gtest.h>
#include <random>

#include "skein/kernels/policy.h"

#include "rlhf/token_losses.h"

namespace skein::rlhf::policy {
namespace {

using kernels::PolicyOuts;
using kernels::PolicyTerms;
using kernels::ValueTerms;
namespace known = kernels::known;

constexpr int64_t kTokens = 1200;
// Log-ratios: none, hardly any, at bounds of clips, and at and beyond the largest that counts.
constexpr double kSteps[] = {0, 1e-6, -1e-6, 0.25, -0.25, 19.75, -19.75, 20, -20, 20.5, -20.5, 300};
const PolicyClip kAtSteps{1 - std::exp(-0.25), std::exp(0.25) - 1, 0};

struct Tokens {
  Tensor losses = Tensor::empty({kTokens}, DType::f32),
         row_scale = Tensor::empty({kTokens}, DType::f32),
         entropies = Tensor::empty({kTokens}, DType::f32),
         values = Tensor::empty({kTokens}, DType::f32),
         known = Tensor::empty({kTokens, known::columns}, DType::f32);

  double at(int64_t i, known::Column column) const {
    return known.data<float>()[i * known::columns + column];
  }
  bool counts(int64_t i) const { return row_scale.data<float>()[i] != 0; }
};

Tokens some_tokens(double scale) {
  std::mt19937 random(11);
  const auto drawn = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Tokens made;
  for (int64_t i = 0; i < kTokens; ++i) {
    float* row = made.known.data<float>() + i * known::columns;
    const double step = i % 3 > 0 ? drawn(-1, 1) : kSteps[i / 3 % std::size(kSteps)];
    // A multiple of 1/4, so that the sum with most steps is exact.
    row[known::old_logp] = static_cast<float>(std::round(drawn(-60, 0)) / 4);
    row[known::ref_logp] =
        static_cast<float>(row[known::old_logp] + drawn(-1, 1) * (i % 5 ? 1 : 40));
    row[known::advantage] = i % 11 ? static_cast<float>(drawn(-3, 3)) : 0;
    row[known::factor] = static_cast<float>(i % 2 ? 1 : drawn(0.1, 5));
    row[known::return_to_go] = static_cast<float>(drawn(-2, 2));
    row[known::old_value] = static_cast<float>(drawn(-2, 2));
    made.losses.data<float>()[i] = -static_cast<float>(row[known::old_logp] + step);
    made.row_scale.data<float>()[i] = i % 7 ? static_cast<float>(scale) : 0;
    made.entropies.data<float>()[i] = static_cast<float>(drawn(0, 9));
    made.values.data<float>()[i] =
        static_cast<float>(row[known::old_value] + drawn(-1, 1) * (i % 4 ? 0.5 : 0));
  }
  return made;
}

class PolicyKernel : public testing::TestWithParam<DType> {
 protected:
  Tensor blank() const { return Tensor::empty({kTokens}, GetParam()); }
  Out out() const { return Out(blank()); }
  static double at(const Tensor& x, int64_t i) {
    return x.dtype() == DType::f64 ? x.data<double>()[i] : x.data<float>()[i];
  }
  // Rounded once.
  void expect(const Tensor& found, int64_t i, double wanted, const char* what) const {
    const double tolerance = GetParam() == DType::f64 ? 1e-14 : 1e-6;
    EXPECT_NEAR(at(found, i), wanted, tolerance * std::abs(wanted)) << what << " of token " << i;
  }
};

INSTANTIATE_TEST_SUITE_P(Sums, PolicyKernel, testing::Values(DType::f32, DType::f64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

struct PolicyCase {
  PolicyClip clip;
  double k2 = 0, k3 = 0;
};

TEST_P(PolicyKernel, HoldsToTheLossesWrittenOut) {
  constexpr double kScale = 65536.0 / 37, kEntropy = 0.3;
  const Tokens tokens = some_tokens(kScale);
  const Tensor scales = tokens.row_scale.to(GetParam());
  for (const PolicyCase& one : {PolicyCase{}, PolicyCase{{0.2, 0.3, 1.5}, 0.4, 0},
                                PolicyCase{kAtSteps, 0, 0.7}, PolicyCase{{0.9, 4, 3}, 0, 0}}) {
    const PolicyTerms terms{kScale, one.clip.low, one.clip.high, one.clip.dual,
                            one.k2, one.k3,       kEntropy};
    const PolicyOuts outs{out(), out(), out(), out(), out(), out(), out()};
    kernels::policy_losses(Cpu{}, terms, tokens.losses.to(GetParam()), scales, tokens.known,
                           tokens.entropies.to(GetParam()), outs);
    int64_t clipped = 0;
    for (int64_t i = 0; i < kTokens; ++i) {
      const double logp = -tokens.losses.data<float>()[i], factor = tokens.at(i, known::factor),
                   d = logp - tokens.at(i, known::ref_logp),
                   step = logp - tokens.at(i, known::old_logp), counts = tokens.counts(i);
      const PolicyLoss policy = policy_loss(logp, tokens.at(i, known::old_logp),
                                            tokens.at(i, known::advantage), one.clip);
      const auto kl = [&](auto of) {
        return one.k2 * of(KlEstimator::k2, d) + one.k3 * of(KlEstimator::k3, d);
      };
      expect(*outs.loss, i, counts * factor * (policy.loss + kl(kl_estimate)), "loss");
      expect(*outs.slopes, i, -counts * factor * kScale * (policy.derivative + kl(kl_derivative)),
             "slope");
      expect(*outs.approx_kl, i, counts * 0.5 * step * step, "approx_kl");
      expect(*outs.ratio, i, counts * policy.ratio, "ratio");
      expect(*outs.bonus, i, -counts * kEntropy * factor * tokens.entropies.data<float>()[i],
             "bonus");
      EXPECT_EQ(at(*outs.clipped, i), counts * (policy.clipped || policy.dual_clipped)) << i;
      EXPECT_EQ(at(*outs.ratio_off, i), counts * (step != 0)) << i;
      clipped += at(*outs.clipped, i) != 0;
    }
    EXPECT_GT(clipped, 0);
    EXPECT_LT(clipped, kTokens);
  }
}

// Whatever the accumulator type keeps beyond f32, in which log-probabilities are remembered.
TEST_P(PolicyKernel, HasARatioOfOneWhereNothingWasLearnt) {
  const Tokens tokens = some_tokens(1);
  const Tensor losses = tokens.losses.to(DType::f64);
  for (int64_t i = 0; i < kTokens; ++i) {
    double& loss = losses.data<double>()[i];
    loss = tokens.entropies.data<float>()[i] * (1 + 1e-9);
    tokens.known.data<float>()[i * known::columns + known::old_logp] = -static_cast<float>(loss);
  }
  const PolicyOuts outs{out(), out(), out(), out(), out()};
  kernels::policy_losses(Cpu{}, {}, losses.to(GetParam()), tokens.row_scale.to(GetParam()),
                         tokens.known, {}, outs);
  for (int64_t i = 0; i < kTokens; ++i) {
    EXPECT_EQ(at(*outs.ratio, i), tokens.counts(i)) << i;
    EXPECT_EQ(at(*outs.ratio_off, i), 0) << i;
  }
}

TEST_P(PolicyKernel, OfACriticHoldsToTheLossWrittenOut) {
  const Tokens tokens = some_tokens(0.21);
  const Tensor said = tokens.values.to(GetParam()), scales = tokens.row_scale.to(GetParam());
  for (const ValueTerms& terms :
       {ValueTerms{}, ValueTerms{0.4, 0.2}, ValueTerms{2, 0.3, 0.25, 0.5}}) {
    const Tensor losses = blank(), clipped = blank(), dx = blank();
    kernels::value_losses(Cpu{}, terms, said, tokens.known, Out(losses), Out(clipped));
    kernels::value_losses_backward(Cpu{}, terms, said, tokens.known, scales, Out(dx));
    for (int64_t i = 0; i < kTokens; ++i) {
      const double value = (tokens.values.data<float>()[i] - terms.mean) / terms.deviation,
                   factor = terms.coefficient * tokens.at(i, known::factor);
      const ValueLoss wanted = value_loss(value, tokens.at(i, known::old_value),
                                          tokens.at(i, known::return_to_go), terms.clip);
      expect(losses, i, factor * wanted.loss, "loss");
      expect(dx, i, factor * wanted.derivative / terms.deviation * at(scales, i), "slope");
      EXPECT_EQ(at(clipped, i), wanted.clipped) << i;
    }
  }
}

}  // namespace
}  // namespace skein::rlhf::policy
