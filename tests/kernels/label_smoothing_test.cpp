// The kernels of smoothed targets in every type, and their bits under threads.
#include <cmath>
#include <omp.h>

#include "skein/kernels/loss.h"

#include "support/kernel_check.h"

namespace skein {
namespace {

using test::expect_near;
using test::random_tensor;

constexpr int64_t kRows = 40, kColumns = 70, kValid = 61, kFirst = 100, kIds = 200;
constexpr kernels::Smoothing kSmoothing{0.2, kIds};

struct Smoothed {
  Tensor sums, losses, gradient;
};

// Of a shard that holds some of the targets. Sums of rows are given, so that each kernel is seen
// alone.
Smoothed run(DType dtype) {
  const DType wide = gradient_dtype(dtype);
  const Tensor logits = random_tensor({kRows, kColumns}, 1, dtype),
               maximum = Tensor::from(std::vector<double>(kRows, 3), {kRows}).to(wide),
               sum_exp = Tensor::from(std::vector<double>(kRows, 9), {kRows}).to(wide),
               target = random_tensor({kRows}, 2, wide), scales = random_tensor({kRows}, 3, wide);
  std::vector<int32_t> ids;
  for (int64_t r = 0; r < kRows; ++r) ids.push_back(static_cast<int32_t>(90 + 2 * r));
  const Smoothed made{Tensor::zeros({kRows}, wide), Tensor::zeros({kRows}, wide),
                      Tensor::zeros(logits.shape(), dtype)};
  kernels::row_sums(Cpu{}, logits, kValid, maximum, Out(made.sums));
  kernels::smoothed_losses(Cpu{}, sum_exp, target, made.sums, kSmoothing, Out(made.losses));
  const kernels::PredictedRows rows{
      logits, {kFirst, kValid}, Tensor::from(ids, {kRows}), maximum, sum_exp};
  kernels::smoothed_backward(Cpu{}, rows, scales, kSmoothing, Out(made.gradient));
  return made;
}

// The same in f64, of numbers already rounded to dtype.
Smoothed wanted(DType dtype) {
  const auto wide = [](const Tensor& x) { return x.to(DType::f64); };
  const Tensor logits = wide(random_tensor({kRows, kColumns}, 1, dtype)),
               target = wide(random_tensor({kRows}, 2, gradient_dtype(dtype))),
               scales = wide(random_tensor({kRows}, 3, gradient_dtype(dtype)));
  const Smoothed made{Tensor::zeros({kRows}, DType::f64), Tensor::zeros({kRows}, DType::f64),
                      Tensor::zeros(logits.shape(), DType::f64)};
  for (int64_t r = 0; r < kRows; ++r) {
    double& sum = made.sums.data<double>()[r];
    for (int64_t c = 0; c < kValid; ++c) {
      const double below = logits.data<double>()[r * kColumns + c] - 3;
      const bool own = kFirst + c == 90 + 2 * r;
      sum += below;
      made.gradient.data<double>()[r * kColumns + c] =
          (std::exp(below) / 9 - (own ? 0.8 : 0) - 0.2 / kIds) * scales.data<double>()[r];
    }
    made.losses.data<double>()[r] = std::log(9) - 0.8 * target.data<double>()[r] - 0.2 / kIds * sum;
  }
  return made;
}

TEST(LabelSmoothingKernels, AreTheirFormulas) {
  for (const auto& [dtype, near] :
       {std::pair{DType::f64, 1e-13}, {DType::f32, 2e-6}, {DType::bf16, 5e-3}}) {
    const Smoothed found = run(dtype), right = wanted(dtype);
    const std::string type(name_of(dtype));
    expect_near(found.sums, right.sums, std::min(near, 2e-6), type + " sums");
    expect_near(found.losses, right.losses, std::min(near, 2e-6), type + " losses");
    expect_near(found.gradient, right.gradient, near, type + " gradient");
  }
}

TEST(LabelSmoothingKernels, BitsDoNotDependOnThreads) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Smoothed one = run(DType::f32);
  for (int threads : {2, 3, 7}) {
    omp_set_num_threads(threads);
    const Smoothed many = run(DType::f32);
    EXPECT_EQ(test::bytes_of(many.sums), test::bytes_of(one.sums)) << threads;
    EXPECT_EQ(test::bytes_of(many.gradient), test::bytes_of(one.gradient)) << threads;
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace skein
