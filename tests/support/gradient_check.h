// Analytic gradients against central differences in f64.
#pragma once

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "skein/core/philox.h"
#include "skein/ops/var.h"

namespace skein::test {

// Normal numbers times `size`, the same for the same seed.
inline Tensor random_tensor(const Shape& shape, uint64_t seed, DType dtype = DType::f64,
                            double size = 1) {
  std::vector<double> values(static_cast<size_t>(shape.size()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = size * normal_at(seed, 0, i);
  return Tensor::from(values, shape).to(dtype);
}

// What a function is checked in: inputs on the tape, and weights whose gradients are accumulated.
struct Checked {
  std::vector<Var> inputs;
  std::vector<WeightMemory> weights;
};

using Function = std::function<Var(const Checked&)>;

inline double weighted_sum(const Function& function, const Checked& at, const Tensor& upstream) {
  const NoGrad no_grad;
  const Tensor y = function(at).value();
  double sum = 0;
  for (int64_t i = 0; i < y.size(); ++i) sum += y.data<double>()[i] * upstream.data<double>()[i];
  return sum;
}

// Every `stride`-th element of x.
inline void compare_with_differences(const Tensor& x, const Tensor& gradient,
                                     const std::function<double()>& loss, double tolerance,
                                     const std::string& what, int64_t stride = 1) {
  ASSERT_EQ(gradient.size(), x.size()) << what;
  for (int64_t i = 0; i < x.size(); i += stride) {
    double& value = x.data<double>()[i];
    const double before = value, step = 1e-5;
    value = before + step;
    const double up = loss();
    value = before - step;
    const double down = loss();
    value = before;
    const double numeric = (up - down) / (2 * step);
    EXPECT_NEAR(gradient.data<double>()[i], numeric, tolerance * std::max(1.0, std::abs(numeric)))
        << what << " element " << i;
  }
}

// function of tensors of these shapes (f64, random): every gradient of a random weighted sum of its
// result.
inline void check_gradients(const Function& function, const std::vector<Shape>& inputs,
                            const std::vector<Shape>& weights = {}, double tolerance = 1e-7) {
  Checked at;
  uint64_t seed = 11;
  for (const Shape& shape : inputs) at.inputs.push_back(Var::leaf(random_tensor(shape, seed++)));
  for (const Shape& shape : weights)
    at.weights.push_back({random_tensor(shape, seed++), Tensor::zeros(shape, DType::f64)});
  const Var y = function(at);
  const Tensor upstream = random_tensor(y.shape(), 99);
  backward(y, upstream.clone());
  const auto loss = [&] { return weighted_sum(function, at, upstream); };
  for (size_t i = 0; i < inputs.size(); ++i)
    compare_with_differences(at.inputs[i].value(), at.inputs[i].gradient(), loss, tolerance,
                             "input " + std::to_string(i));
  for (size_t i = 0; i < weights.size(); ++i)
    compare_with_differences(at.weights[i].value, at.weights[i].gradient, loss, tolerance,
                             "weight " + std::to_string(i));
}

inline std::vector<std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.bytes_data(), tensor.bytes_data() + tensor.bytes()};
}

}  // namespace skein::test
