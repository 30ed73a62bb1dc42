// What a program outside this repository does with an installed Skein: options, a tensor, a
// product, a group.
#include <fmt/format.h>

#include "skein/comm/local.h"
#include "skein/core/options/options.h"
#include "skein/core/version.h"
#include "skein/kernels/matmul.h"
#include "skein/tensor/tensor.h"

int main(int argc, char** argv) {
  int64_t width = 2;
  skein::Options options("consumer", "Adds up a product.");
  options.add("model.width", width, "columns of the factors");
  options.parse({argv + 1, argv + argc});

  const std::vector<float> ones(static_cast<size_t>(2 * width), 1.0f);
  const skein::Tensor a = skein::Tensor::from(ones, {2, width});
  const skein::Tensor c = skein::Tensor::zeros({2, 2}, skein::DType::f32);
  skein::kernels::matmul(skein::Cpu{}, a, a, {.transpose_b = true}, skein::Out(c));

  double sum = 0;
  for (const float value : c.span<float>()) sum += value;
  sum = skein::single_rank()->sum(sum);
  fmt::print("skein {}: {}\n", skein::kVersion, sum);
  return sum == 4.0 * static_cast<double>(width) ? 0 : 1;
}
