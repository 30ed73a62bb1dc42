// The memory of a parameter may move, or be freed and made again, between an op's forward and its
// backward: ops find it when they run.
#include <gtest/gtest.h>

#include "skein/ops/embedding.h"
#include "skein/ops/linear.h"
#include "skein/ops/math.h"
#include "skein/ops/recompute.h"

#include "support/gradient_check.h"

namespace skein {
namespace {

using test::bytes_of;
using test::random_tensor;

using Memory = std::vector<WeightMemory>;
using Op = std::function<Var(const Var& x, const Memory& weights)>;
using Between = std::function<void(WeightMemory&)>;

struct Found {
  std::vector<std::byte> y, dx;
  std::vector<std::vector<std::byte>> gradients;
  bool operator==(const Found&) const = default;
};

Found run(const Op& op, const std::vector<Shape>& shapes, const Between& between) {
  Memory weights;
  for (const Shape& shape : shapes)
    weights.push_back(
        {random_tensor(shape, 5 + weights.size(), DType::f32), Tensor::zeros(shape, DType::f32)});
  const Var x = Var::leaf(random_tensor({2, 3, 4}, 1, DType::f32)), y = op(x, weights);
  for (WeightMemory& weight : weights) between(weight);
  backward(y, random_tensor(y.shape(), 2, DType::f32));
  Found found{bytes_of(y.value()),
              x.gradient().defined() ? bytes_of(x.gradient()) : decltype(found.dx)(),
              {}};
  for (const WeightMemory& weight : weights) found.gradients.push_back(bytes_of(weight.gradient));
  return found;
}

// What lay in the old memory is no longer there.
void move(WeightMemory& weight) {
  const WeightMemory old = weight;
  weight.value = old.value.clone();
  weight.gradient = Tensor::zeros(old.gradient.shape(), DType::f32);
  old.value.copy_from(random_tensor(old.value.shape(), 77, DType::f32, 1e6));
  old.gradient.copy_from(random_tensor(old.value.shape(), 78, DType::f32, 1e6));
}

// Its gradient has had no memory in forward.
void free_and_make_again(WeightMemory& weight) {
  const Tensor kept = weight.value.clone();
  weight.value = {};
  weight.gradient = {};
  weight.value = kept;
  weight.gradient = Tensor::zeros(kept.shape(), DType::f32);
}

void expect_free_to_move(const Op& op, const std::vector<Shape>& shapes) {
  const Found expected = run(op, shapes, [](WeightMemory&) {});
  for (const auto& gradient : expected.gradients)
    EXPECT_NE(gradient, std::vector<std::byte>(gradient.size())) << "nothing was learnt";
  EXPECT_EQ(run(op, shapes, move), expected);
  EXPECT_EQ(run(op, shapes, free_and_make_again), expected);
}

TEST(WeightMemory, OfALinearMapMayMove) {
  expect_free_to_move([](const Var& x, const Memory& at) { return ops::linear(x, at[0], at[1]); },
                      {{5, 4}, {5}});
  expect_free_to_move(
      [](const Var& x, const Memory& at) {
        return ops::linear(x, at[0], at[1], ops::Activation::gelu_tanh);
      },
      {{5, 4}, {5}});
  expect_free_to_move([](const Var& x, const Memory& at) { return ops::add_bias(x, at[0]); },
                      {{4}});
}

TEST(WeightMemory, OfANormMayMove) {
  expect_free_to_move(
      [](const Var& x, const Memory& at) {
        return ops::norm(x, ops::Norm::layer, at[0], at[1], 1e-5);
      },
      {{4}, {4}});
  expect_free_to_move(
      [](const Var& x, const Memory& at) {
        const auto [sum, normed] =
            ops::add_norm(x, ops::scale(x, 0.5), ops::Norm::rms, at[0], {}, 1e-5);
        return ops::add(sum, normed);
      },
      {{4}});
}

TEST(WeightMemory, OfATableMayMove) {
  expect_free_to_move(
      [](const Var&, const Memory& at) {
        return ops::embedding(Tensor::from(std::vector<int32_t>{0, 3, 3, 1}, {2, 2}), at[0], 0);
      },
      {{5, 4}});
}

TEST(WeightMemory, OfWhatRunsAgainInBackwardMayMove) {
  expect_free_to_move(
      [](const Var& x, const Memory& at) {
        return ops::recompute({x}, [first = Weight(at[0]), second = Weight(at[1])](const auto& in) {
          return ops::linear(ops::linear(in[0], first, {}, ops::Activation::tanh), second, {});
        });
      },
      {{5, 4}, {4, 5}});
}

TEST(WeightMemory, ThatIsFrozenGetsNoGradient) {
  WeightMemory frozen{random_tensor({5, 4}, 1, DType::f32), Tensor::zeros({5, 4}, DType::f32)};
  frozen.learns = false;
  const Var x = Var::leaf(random_tensor({2, 3, 4}, 2, DType::f32)), y = ops::linear(x, frozen, {});
  backward(y, random_tensor(y.shape(), 3, DType::f32));
  EXPECT_TRUE(x.gradient().defined());
  EXPECT_EQ(bytes_of(frozen.gradient), std::vector<std::byte>(5 * 4 * sizeof(float)));
}

// A norm whose gain and bias learn or do not: gradients of x, gain and bias.
Found gradients_of_norm(bool gain_learns, bool bias_learns) {
  const Shape shape{6};
  const auto made = [&](uint64_t seed, bool learns) {
    return WeightMemory{random_tensor(shape, seed, DType::f32),
                        learns ? Tensor::zeros(shape, DType::f32) : Tensor(), nullptr, learns};
  };
  const WeightMemory gain = made(1, gain_learns), bias = made(2, bias_learns);
  const Var x = Var::leaf(random_tensor({2, 3, 6}, 3, DType::f32)),
            y = ops::norm(x, ops::Norm::layer, gain, bias, 1e-5);
  backward(y, random_tensor(y.shape(), 4, DType::f32));
  return {bytes_of(y.value()),
          bytes_of(x.gradient()),
          {bytes_of(gain.gradient), bytes_of(bias.gradient)}};
}

TEST(WeightMemory, OfANormMayBeFrozenWhereAGradientGoesThrough) {
  const Found all = gradients_of_norm(true, true);
  for (const auto& [gain, bias] : {std::pair{true, false}, {false, true}, {false, false}}) {
    const Found some = gradients_of_norm(gain, bias);
    EXPECT_EQ(some.dx, all.dx);
    EXPECT_EQ(some.gradients[0], gain ? all.gradients[0] : std::vector<std::byte>());
    EXPECT_EQ(some.gradients[1], bias ? all.gradients[1] : std::vector<std::byte>());
  }
}

TEST(WeightMemory, ThatLearnsMustHaveAGradientWhenBackwardRuns) {
  WeightMemory weight{random_tensor({5, 4}, 1, DType::f32), {}};
  const Var y = ops::linear(Var(random_tensor({2, 4}, 2, DType::f32)), weight, {});
  EXPECT_TRUE(y.needs_gradient());
  try {
    backward(y, random_tensor(y.shape(), 3, DType::f32));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::internal);
  }
}

}  // namespace
}  // namespace skein
