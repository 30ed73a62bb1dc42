#include "skein/kernels/matmul.h"

#include <cmath>
#include <gtest/gtest.h>

#include "skein/core/philox.h"

namespace skein::kernels {
namespace {

Tensor random(int64_t rows, int64_t columns, uint64_t key) {
  Tensor made = Tensor::empty({rows, columns}, DType::f32);
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<float>()[i] = normal_at(key, 0, static_cast<uint64_t>(i));
  return made;
}

TEST(Matmul, AgreesWithTheDefinition) {
  for (int64_t m : {1, 13, 70})
    for (int64_t n : {1, 33, 100})
      for (int64_t k : {1, 17, 500}) {
        const Tensor a = random(m, k, 1), b = random(n, k, 2),
                     c = Tensor::empty({m, n}, DType::f32);
        matmul(Cpu{}, a, b, {.transpose_b = true}, Out(c));
        for (int64_t i = 0; i < m; i += 7)
          for (int64_t j = 0; j < n; j += 5) {
            double sum = 0;
            for (int64_t d = 0; d < k; ++d)
              sum += double{a.data<float>()[i * k + d]} * b.data<float>()[j * k + d];
            ASSERT_NEAR(c.data<float>()[i * n + j], sum,
                        1e-5 * std::sqrt(static_cast<double>(k)) + 1e-5 * std::abs(sum));
          }
      }
}

// Few rows, as in decoding, take another way.
TEST(Matmul, ARowDoesNotKnowItsBatch) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (int64_t depth : {1, 15, 16, 31, 33, 800}) {
      const Tensor a = random(97, depth, 1).to(dtype), b = random(130, depth, 2).to(dtype),
                   all = Tensor::empty({97, 130}, dtype);
      matmul(Cpu{}, a, b, {.transpose_b = true}, Out(all));
      for (int64_t rows : {1, 2, 3, 4, 5, 13})
        for (int64_t first : {0, 5, 60, 84}) {
          const Tensor one = Tensor::empty({rows, 130}, dtype);
          matmul(Cpu{}, a.rows(first, first + rows), b, {.transpose_b = true}, Out(one));
          EXPECT_EQ(std::memcmp(one.bytes_data(), all.rows(first, first + rows).bytes_data(),
                                static_cast<size_t>(one.bytes())),
                    0)
              << name_of(dtype) << " " << depth << " " << rows << " " << first;
        }
    }
}

TEST(Matmul, AccumulatingPartsGivesTheBitsOfTheWhole) {
  const Tensor dy = random(64, 40, 1), x = random(64, 50, 2);
  const Tensor whole = Tensor::zeros({40, 50}, DType::f32),
               parts = Tensor::zeros({40, 50}, DType::f32);
  matmul(Cpu{}, dy, x, {.transpose_a = true, .accumulate = true}, Out(whole));
  for (int64_t row = 0; row < 64; row += 16)
    matmul(Cpu{}, dy.rows(row, row + 16), x.rows(row, row + 16),
           {.transpose_a = true, .accumulate = true}, Out(parts));
  EXPECT_EQ(std::memcmp(whole.bytes_data(), parts.bytes_data(), whole.bytes()), 0);
}

}  // namespace
}  // namespace skein::kernels
