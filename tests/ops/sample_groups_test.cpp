// Rows of several groups give a weight's gradient the bits that their groups' sums have in the
// tree, each of them made alone.
#include "skein/ops/sample_groups.h"

#include <bit>
#include <gtest/gtest.h>

#include "skein/ops/distance_bias.h"
#include "skein/ops/embedding.h"
#include "skein/ops/linear.h"
#include "skein/ops/loss.h"
#include "skein/ops/math.h"

#include "support/gradient_check.h"

namespace skein::ops {
namespace {

using test::bytes_of;
using test::random_tensor;

constexpr int64_t kSamples = 12, kLength = 5, kChannels = 6;

using Memory = std::vector<WeightMemory>;
// Runs an op on samples [begin, end), forward and backward.
using Step = std::function<void(const Memory& weights, int64_t begin, int64_t end)>;

Memory weights_of(const std::vector<Shape>& shapes) {
  Memory made;
  for (const Shape& shape : shapes)
    made.push_back(
        {random_tensor(shape, 5 + made.size(), DType::f32), Tensor::zeros(shape, DType::f32)});
  return made;
}

std::vector<Tensor> gradients_of(const std::vector<Shape>& shapes, int64_t begin, int64_t end,
                                 const Step& step) {
  const Memory weights = weights_of(shapes);
  step(weights, begin, end);
  std::vector<Tensor> made;
  for (const WeightMemory& weight : weights) made.push_back(weight.gradient);
  return made;
}

// By the definition of comm/group.h.
Tensor sum_of_groups(const std::vector<std::vector<Tensor>>& groups, size_t weight, size_t begin,
                     size_t end) {
  if (end - begin == 1) return groups[begin][weight].clone();
  const size_t half = begin + std::bit_floor(end - begin - 1);
  const Tensor left = sum_of_groups(groups, weight, begin, half),
               right = sum_of_groups(groups, weight, half, end);
  for (int64_t i = 0; i < left.size(); ++i) left.data<float>()[i] += right.data<float>()[i];
  return left;
}

void expect_tree(const std::vector<Shape>& shapes, const Step& step) {
  const auto fold = gradients_of(shapes, 0, kSamples, step);
  for (int count : {2, 3, 4, 12}) {
    std::vector<std::vector<Tensor>> groups;
    for (int64_t g = 0; g < count; ++g)
      groups.push_back(
          gradients_of(shapes, g * kSamples / count, (g + 1) * kSamples / count, step));
    std::vector<Tensor> found;
    {
      const SampleGroups here(count);
      found = gradients_of(shapes, 0, kSamples, step);
    }
    for (size_t weight = 0; weight < shapes.size(); ++weight)
      EXPECT_EQ(bytes_of(found[weight]), bytes_of(sum_of_groups(groups, weight, 0, groups.size())))
          << count << " groups, weight " << weight;
    EXPECT_NE(bytes_of(found[0]), bytes_of(fold[0])) << "these numbers show no order";
  }
}

Shape of_all(const Shape& sample) {
  std::vector<int64_t> dims{kSamples};
  dims.insert(dims.end(), sample.dims().begin(), sample.dims().end());
  return Shape(dims);
}

Tensor samples(const Shape& sample, uint64_t seed, int64_t begin, int64_t end) {
  return random_tensor(of_all(sample), seed, DType::f32, 3).rows(begin, end).clone();
}

Tensor ids_of(int64_t ids, int64_t begin, int64_t end) {
  std::vector<int32_t> drawn;
  for (uint64_t i = 0; i < kSamples * kLength; ++i)
    drawn.push_back(static_cast<int32_t>(philox(3, 0, i)[0] % ids));
  return Tensor::from(drawn, of_all({kLength})).rows(begin, end).clone();
}

void back(const Var& y, int64_t begin) {
  const int64_t width = y.shape().size() / y.shape()[0];
  const Tensor all = random_tensor({kSamples * width}, 2, DType::f32);
  backward(y, all.flat(begin * width, y.shape().size()).clone().reshape(y.shape()));
}

TEST(SampleGroups, OfProductsAndTheirBiases) {
  for (const bool active : {false, true})
    expect_tree({{7, kChannels}, {7}}, [&](const Memory& weights, int64_t begin, int64_t end) {
      const Var x = Var::leaf(samples({kLength, kChannels}, 1, begin, end));
      back(linear(x, weights[0], weights[1],
                  active ? std::optional(Activation::gelu_tanh) : std::nullopt),
           begin);
    });
  expect_tree({{kChannels}}, [](const Memory& weights, int64_t begin, int64_t end) {
    back(add_bias(Var::leaf(samples({kLength, kChannels}, 1, begin, end)), weights[0]), begin);
  });
}

TEST(SampleGroups, OfNorms) {
  expect_tree({{kChannels}, {kChannels}}, [](const Memory& weights, int64_t begin, int64_t end) {
    const Var x = Var::leaf(samples({kLength, kChannels}, 1, begin, end));
    back(norm(x, Norm::layer, weights[0], weights[1], 1e-5), begin);
  });
}

TEST(SampleGroups, OfTables) {
  expect_tree({{9, kChannels}}, [](const Memory& weights, int64_t begin, int64_t end) {
    back(embedding(ids_of(9, begin, end), weights[0], 0), begin);
  });
  expect_tree({{2, 8}}, [](const Memory& weights, int64_t begin, int64_t end) {
    back(distance_bias(weights[0], end - begin, {kLength, kLength, 0, {8, 20, true}}), begin);
  });
}

TEST(SampleGroups, OfHeads) {
  expect_tree({{9, kChannels}, {9}}, [](const Memory& weights, int64_t begin, int64_t end) {
    const int64_t rows = (end - begin) * kLength;
    const Var x =
        Var::leaf(samples({kLength, kChannels}, 1, begin, end).reshape({rows, kChannels}));
    const Tensor targets = ids_of(9, begin, end).reshape({rows}),
                 weight = samples({kLength}, 4, begin, end).reshape({rows});
    backward(linear_cross_entropy(x, {weights[0], weights[1], {0, 9}}, targets, weight, kLength),
             weight);
  });
}

TEST(SampleGroups, LastAsLongAsTheirScope) {
  EXPECT_EQ(SampleGroups::count(), 1);
  {
    const SampleGroups four(4);
    const SampleGroups two(2);
    EXPECT_EQ(SampleGroups::count(), 2);
  }
  EXPECT_EQ(SampleGroups::count(), 1);
}

}  // namespace
}  // namespace skein::ops
