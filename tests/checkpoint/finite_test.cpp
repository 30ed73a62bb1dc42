// Weights that are no numbers are counted, and named by their tensors.
#include "skein/checkpoint/finite.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace skein::checkpoint {
namespace {

template <class T>
int64_t count(DType dtype, const std::vector<T>& values) {
  return count_non_finite(dtype, reinterpret_cast<const std::byte*>(values.data()),
                          static_cast<int64_t>(values.size()));
}

TEST(NonFiniteCounts, IsCountedInEveryType) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinite = std::numeric_limits<float>::infinity();
  constexpr float most = std::numeric_limits<float>::max();
  constexpr double most64 = std::numeric_limits<double>::max();
  EXPECT_EQ(count(DType::f32, std::vector<float>{0, nan, -nan, infinite, -infinite, most, -1}), 4);
  EXPECT_EQ(count(DType::f64, std::vector<double>{nan, infinite, most64, -most64}), 2);
  const std::vector<BFloat16> bf16{BFloat16(1.f), BFloat16(nan), BFloat16(-infinite),
                                   BFloat16(3e38f)};
  EXPECT_EQ(count(DType::bf16, bf16), 2);
  const std::vector<Float16> f16{Float16(65504.f), Float16(65520.f), Float16(nan), Float16(-0.f)};
  EXPECT_EQ(count(DType::f16, f16), 2);
  EXPECT_EQ(count(DType::i32, std::vector<int32_t>{0x7f800000, -1}), 0);
}

// Also where the bytes are not aligned.
TEST(NonFiniteCounts, IsToldByTensor) {
  const float values[] = {1, std::numeric_limits<float>::quiet_NaN()};
  std::vector<std::byte> bytes(sizeof(values) + 1);
  std::memcpy(bytes.data() + 1, values, sizeof(values));
  NonFiniteCounts odd;
  odd.look_at("good", DType::f32, bytes.data() + 1, 1);
  EXPECT_EQ(odd.text(), "");
  odd.look_at("a", DType::f32, bytes.data() + 1, 2);
  EXPECT_EQ(odd.text(), "1 value in 1 tensor is not finite: a (1)");
  odd.look_at("a", DType::f32, bytes.data() + 1, 2);
  for (const char* name : {"b", "c", "d", "e"}) odd.look_at(name, DType::f32, bytes.data() + 1, 2);
  EXPECT_EQ(odd.text(), "6 values in 5 tensors are not finite: a (2), b (1), c (1), d (1), e (1)");
  odd.look_at("f", DType::f32, bytes.data() + 1, 2);
  EXPECT_EQ(odd.text(),
            "7 values in 6 tensors are not finite: a (2), b (1), c (1), d (1), e (1), ...");
}

}  // namespace
}  // namespace skein::checkpoint
