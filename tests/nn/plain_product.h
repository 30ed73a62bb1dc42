// A product by its definition.
#pragma once

#include <vector>

#include "skein/tensor/tensor.h"

namespace skein::test {

// x [rows,K] times weight [N,K] transposed, and a bias [N], in f64: [rows,N].
inline std::vector<double> plain_product(const std::vector<double>& x, const Tensor& weight,
                                         const Tensor& bias) {
  const auto inputs = static_cast<size_t>(weight.dim(1)),
             outputs = static_cast<size_t>(weight.dim(0));
  std::vector<double> made;
  for (size_t row = 0; row < x.size() / inputs; ++row)
    for (size_t o = 0; o < outputs; ++o) {
      made.push_back(bias.data<double>()[o]);
      for (size_t i = 0; i < inputs; ++i)
        made.back() += weight.data<double>()[o * inputs + i] * x[row * inputs + i];
    }
  return made;
}

}  // namespace skein::test
