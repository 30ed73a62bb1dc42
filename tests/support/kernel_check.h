// A kernel and its backward against each other: central differences in f64, and f32 and bf16
// against f64.
#pragma once

#include "skein/kernels/pattern.h"

#include "support/gradient_check.h"

namespace skein::test {

using Tensors = std::vector<Tensor>;
using ForwardKernel = std::function<Tensor(const Tensors& inputs)>;
// The gradient of every input, in order.
using BackwardKernel = std::function<Tensors(const Tensors& inputs, const Tensor& dy)>;

// `window` 0: as far as there are keys.
inline kernels::Pattern band(bool causal, int64_t window) {
  if (window) return kernels::Pattern::window(window, causal);
  return causal ? kernels::Pattern::causal() : kernels::Pattern::full();
}

inline Tensor like(const Tensor& x) { return Tensor::empty(x.shape(), x.dtype()); }

// Zeros shaped as x, of the type in which gradients of parameters and sums of rows are kept.
inline Tensor sums_like(const Tensor& x) {
  return Tensor::zeros(x.shape(), gradient_dtype(x.dtype()));
}

inline Tensors random_tensors(const std::vector<Shape>& shapes, DType dtype) {
  Tensors made;
  for (const Shape& shape : shapes) made.push_back(random_tensor(shape, 11 + made.size(), dtype));
  return made;
}

inline Tensors converted(const Tensors& tensors, DType dtype) {
  Tensors made;
  for (const Tensor& tensor : tensors) made.push_back(tensor.to(dtype));
  return made;
}

inline std::vector<double> values_of(const Tensor& x) {
  const Tensor wide = x.to(DType::f64);
  return {wide.data<double>(), wide.data<double>() + wide.size()};
}

// Relative to values above 1, absolute below.
inline void expect_near(const Tensor& found, const Tensor& wanted, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(found.shape().str(), wanted.shape().str()) << what;
  const std::vector<double> left = values_of(found), right = values_of(wanted);
  for (size_t i = 0; i < left.size(); ++i)
    ASSERT_NEAR(left[i], right[i], tolerance * std::max(1.0, std::abs(right[i])))
        << what << " element " << i;
}

inline void check_differences(const ForwardKernel& forward, const BackwardKernel& backward,
                              const std::vector<Shape>& shapes, int64_t stride) {
  const Tensors inputs = random_tensors(shapes, DType::f64);
  const Tensor dy = random_tensor(forward(inputs).shape(), 99);
  const auto loss = [&] {
    const Tensor y = forward(inputs);
    double sum = 0;
    for (int64_t i = 0; i < y.size(); ++i) sum += y.data<double>()[i] * dy.data<double>()[i];
    return sum;
  };
  const Tensors gradients = backward(inputs, dy);
  ASSERT_EQ(gradients.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    compare_with_differences(inputs[i], gradients[i], loss, 1e-7, "input " + std::to_string(i),
                             stride);
}

// The same inputs, already rounded to dtype, in dtype and in f64.
inline void check_type(const ForwardKernel& forward, const BackwardKernel& backward,
                       const std::vector<Shape>& shapes, DType dtype, double tolerance) {
  const std::string type(name_of(dtype));
  const Tensors inputs = random_tensors(shapes, dtype), wide = converted(inputs, DType::f64);
  const Tensor y = forward(inputs), dy = random_tensor(y.shape(), 99, y.dtype());
  expect_near(y, forward(wide), tolerance, type + " result");
  const Tensors found = backward(inputs, dy), wanted = backward(wide, dy.to(DType::f64));
  for (size_t i = 0; i < found.size(); ++i)
    expect_near(found[i], wanted[i], tolerance, type + " gradient of input " + std::to_string(i));
}

// Every `stride`-th element is compared with differences, all of them between types.
inline void check_backward(const ForwardKernel& forward, const BackwardKernel& backward,
                           const std::vector<Shape>& shapes, int64_t stride = 1,
                           double bf16_tolerance = 2e-2) {
  check_differences(forward, backward, shapes, stride);
  check_type(forward, backward, shapes, DType::f32, 1e-5);
  check_type(forward, backward, shapes, DType::bf16, bf16_tolerance);
}

}  // namespace skein::test
