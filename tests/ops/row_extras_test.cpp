#include <cmath>

#include "skein/comm/local.h"
#include "skein/ops/collective.h"
#include "skein/ops/loss.h"

#include "support/gradient_check.h"

namespace skein {
namespace {

constexpr int64_t kRows = 5, kWidth = 4, kIds = 6, kValid = 5;
constexpr double kScale = 0.3, kKl = 0.4;
// A policy's log-probabilities are rounded to f32.
constexpr double kNear = 1e-5;

// The last row does not count, and nothing is clipped.
struct PolicyRows {
  Tensor x = test::random_tensor({kRows, kWidth}, 1),
         weight = test::random_tensor({kIds, kWidth}, 2);
  Tensor targets = Tensor::from(std::vector<int32_t>{0, 4, 2, 3, 1}, {kRows});
  Tensor row_weights =
      Tensor::from(std::vector<double>{kScale, kScale, kScale, kScale, 0}, {kRows});
  Tensor entropy_weights = test::random_tensor({kRows}, 3);
  Tensor known = Tensor::empty({kRows, kernels::known::columns}, DType::f32);

  PolicyRows() {
    using namespace kernels::known;
    for (int64_t i = 0; i < kRows; ++i) {
      float* row = known.data<float>() + i * columns;
      row[old_logp] = static_cast<float>(-1.5 - 0.2 * static_cast<double>(i));
      row[ref_logp] = -2;
      row[advantage] = i % 2 ? 0.75f : -0.5f;
      row[factor] = static_cast<float>(1 + i) / 2;
    }
  }
};

struct PolicyLosses {
  Tensor losses, entropies, dx, dweight;
  double total = 0;
};

kernels::PolicyTerms policy_terms() { return {kScale, 0.999, 1e6, 0, kKl}; }

// What the rows cost the policy, [M].
ops::RowExtras policy_of(const PolicyRows& in) {
  const auto rows = [] { return Out(Tensor::empty({kRows}, DType::f64)); };
  ops::RowExtras extras;
  extras.policy =
      ops::PolicyLoss{policy_terms(), in.known, {rows(), rows(), rows(), rows(), rows()}};
  return extras;
}

// The same of a row's own loss.
double cost(const PolicyRows& in, int64_t i, double loss) {
  const float* known = in.known.data<float>() + i * kernels::known::columns;
  const double d = -loss - known[kernels::known::ref_logp];
  return known[kernels::known::factor] *
         (kKl * d * d / 2 -
          known[kernels::known::advantage] * std::exp(-loss - known[kernels::known::old_logp]));
}

// total = the weighed sum of what rows cost the policy, and of the weighed entropies.
PolicyLosses run(const PolicyRows& in, bool entropic) {
  PolicyLosses found;
  found.entropies = Tensor::empty({kRows}, DType::f64);
  ops::RowExtras extras = policy_of(in);
  if (entropic) extras.entropy_weights = in.entropy_weights;
  const WeightMemory weight{in.weight, found.dweight = Tensor::zeros({kIds, kWidth}, DType::f64)};
  const Var x = Var::leaf(in.x);
  const auto losses = [&](const ops::RowExtras& of, Out entropies) {
    return ops::linear_cross_entropy(x, {weight, {}, {0, kValid}}, in.targets, in.row_weights,
                                     kRows, of, entropies);
  };
  {
    const NoGrad no_grad;
    found.losses = losses({}, {}).value();
  }
  const Var costs = losses(extras, Out(found.entropies));
  for (int64_t i = 0; i < kRows; ++i) {
    const double weight = in.row_weights.data<double>()[i],
                 own = cost(in, i, found.losses.data<double>()[i]);
    EXPECT_NEAR(costs.value().data<double>()[i], weight != 0 ? own : 0, kNear);
    found.total +=
        weight * own +
        (entropic ? in.entropy_weights.data<double>()[i] * found.entropies.data<double>()[i] : 0);
  }
  backward(costs, in.row_weights);
  found.dx = x.gradient();
  return found;
}

void expect_slopes(const PolicyRows& in, const Tensor& of, const Tensor& slopes, bool entropic) {
  for (int64_t i = 0; i < of.size(); ++i) {
    double& at = of.data<double>()[i];
    const double before = at, step = 1e-5;
    at = before + step;
    const double above = run(in, entropic).total;
    at = before - step;
    const double below = run(in, entropic).total;
    at = before;
    EXPECT_NEAR(slopes.data<double>()[i], (above - below) / (2 * step), kNear);
  }
}

TEST(RowExtras, RowsMayBeWhatAPolicySampled) {
  const PolicyRows in;
  const PolicyLosses found = run(in, false);
  expect_slopes(in, in.x, found.dx, false);
  expect_slopes(in, in.weight, found.dweight, false);
}

// The square of what all rows lose together, whose slope is known only after all of them: they are
// made twice.
struct Square {
  Tensor total, dx, dweight;
};

Square square(const PolicyRows& in) {
  Square made{Tensor::zeros({1}, DType::f64), {}, Tensor::zeros({kIds, kWidth}, DType::f64)};
  const WeightMemory weight{in.weight, made.dweight};
  const Var x = Var::leaf(in.x);
  const auto losses = [&](const Tensor& row_weights) {
    return ops::linear_cross_entropy(x, {weight, {}, {0, kValid}}, in.targets, row_weights, kRows);
  };
  double sum = 0;
  {
    const NoGrad no_grad;
    for (double loss : losses({}).value().span<double>()) sum += loss;
  }
  made.total.data<double>()[0] = sum * sum;
  const Tensor slopes = Tensor::from(std::vector<double>(kRows, 2 * sum), {kRows});
  backward(ops::stand_in(losses(slopes), made.total, slopes),
           Tensor::from(std::vector<double>{7}, {1}));
  made.dx = x.gradient();
  return made;
}

TEST(RowExtras, RowsMayBeMadeTwiceForALossOfThemAll) {
  const PolicyRows in;
  const Square found = square(in);
  for (const auto& [of, slopes] : {std::pair{in.x, found.dx}, {in.weight, found.dweight}})
    for (int64_t i = 0; i < of.size(); ++i) {
      double& at = of.data<double>()[i];
      const double before = at, step = 1e-5;
      at = before + step;
      const double above = square(in).total.data<double>()[0];
      at = before - step;
      const double below = square(in).total.data<double>()[0];
      at = before;
      EXPECT_NEAR(slopes.data<double>()[i], (above - below) / (2 * step), 1e-6);
    }
}

TEST(RowExtras, EntropiesHaveGradients) {
  const PolicyRows in;
  const PolicyLosses found = run(in, true);
  expect_slopes(in, in.x, found.dx, true);
  expect_slopes(in, in.weight, found.dweight, true);
}

TEST(RowExtras, EntropiesAreThoseOfTheSoftmax) {
  const PolicyRows in;
  const PolicyLosses found = run(in, false);
  for (int64_t r = 0; r < kRows; ++r) {
    std::vector<double> scores(kValid);
    double sum = 0, entropy = 0;
    for (int64_t id = 0; id < kValid; ++id) {
      double score = 0;
      for (int64_t c = 0; c < kWidth; ++c)
        score += in.x.data<double>()[r * kWidth + c] * in.weight.data<double>()[id * kWidth + c];
      sum += scores[static_cast<size_t>(id)] = std::exp(score);
    }
    for (double score : scores) entropy -= score / sum * std::log(score / sum);
    EXPECT_NEAR(found.entropies.data<double>()[r], entropy, 1e-12);
  }
}

// As the product finds them with the vocabulary in one piece.
TEST(RowExtras, ShardsGiveTheSame) {
  const PolicyRows in;
  const PolicyLosses whole = run(in, true);
  run_ranks(2, [&](Group& group) {
    const int64_t first = group.rank() * 3, valid = group.rank() == 0 ? 3 : 2;
    const Tensor entropies = Tensor::empty({kRows}, DType::f64);
    ops::RowExtras extras = policy_of(in);
    extras.entropy_weights = in.entropy_weights;
    const WeightMemory weight{in.weight.rows(first, first + 3).clone(),
                              Tensor::zeros({3, kWidth}, DType::f64)};
    const Var x = Var::leaf(in.x.clone()), entered = ops::copy_to_shards(x, group);
    const Var rows =
        ops::linear_cross_entropy(entered, {weight, {}, {first, valid}, &group}, in.targets,
                                  in.row_weights, kRows, extras, Out(entropies));
    backward(rows, in.row_weights);
    for (int64_t i = 0; i < kRows; ++i)
      EXPECT_NEAR(entropies.data<double>()[i], whole.entropies.data<double>()[i], 1e-12);
    for (int64_t i = 0; i < in.x.size(); ++i)
      EXPECT_NEAR(x.gradient().data<double>()[i], whole.dx.data<double>()[i], 1e-12);
    for (int64_t i = 0; i < valid * kWidth; ++i)
      EXPECT_NEAR(weight.gradient.data<double>()[i],
                  whole.dweight.data<double>()[first * kWidth + i], 1e-12);
  });
}

// What every rank makes of a copied x adds to its gradient once.
TEST(RowExtras, OnceAddsOnce) {
  run_ranks(2, [](Group& group) {
    const Var x = Var::leaf(test::random_tensor({1, 2, 3}, 7)),
              entered = ops::copy_to_shards(x, group);
    backward(ops::once(entered, group),
             Tensor::from(std::vector<double>{1, 2, 3, 4, 5, 6}, {1, 2, 3}));
    for (int i = 0; i < 6; ++i) EXPECT_EQ(x.gradient().data<double>()[i], i + 1);
  });
}

}  // namespace
}  // namespace skein
