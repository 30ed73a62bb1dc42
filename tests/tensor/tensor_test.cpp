#include "skein/tensor/tensor.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <unistd.h>
#include <vector>

#include "skein/tensor/buffer.h"

namespace skein {
namespace {

float rounded(float value) { return static_cast<float>(static_cast<BFloat16>(value)); }

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(rounded(1.0f), 1.0f);
  EXPECT_EQ(rounded(1.0f + 0x1p-8f), 1.0f);  // half way: to even
  EXPECT_EQ(rounded(1.0f + 3 * 0x1p-8f), 1.0f + 0x1p-6f);
  EXPECT_EQ(rounded(1.0f + 0x1.02p-8f), 1.0f + 0x1p-7f);
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
  EXPECT_EQ(rounded(-std::numeric_limits<float>::infinity()),
            -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
}

float half(float value) { return static_cast<float>(static_cast<Float16>(value)); }

TEST(Float16, RoundsToNearestEven) {
  EXPECT_EQ(half(1.0f + 0x1p-11f), 1.0f);  // half way: to even
  EXPECT_EQ(half(1.0f + 3 * 0x1p-11f), 1.0f + 0x1p-9f);
  EXPECT_EQ(half(65519.0f), 65504.0f);
  EXPECT_EQ(half(65520.0f), std::numeric_limits<float>::infinity());
  EXPECT_EQ(half(-0x1p-24f), -0x1p-24f);  // the smallest
  EXPECT_EQ(half(0x1.8p-24f), 0x1p-23f);
  EXPECT_EQ(half(0x1p-25f), 0.0f);
  EXPECT_EQ(half(0x1.ff8p-15f), 0x1.ff8p-15f);  // the largest below the normal ones
  EXPECT_TRUE(std::isnan(half(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Float16, KeepsEachOfItsOwnValues) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    Float16 value;
    value.bits = static_cast<uint16_t>(bits);
    const auto wide = static_cast<float>(value);
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(half(wide)));
    else
      EXPECT_EQ(static_cast<Float16>(wide).bits, bits) << wide;
  }
}

TEST(DTypes, KnowTheirSizesAndNames) {
  for (DType dtype :
       {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8})
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::i64), 8);
  EXPECT_EQ(gradient_dtype(DType::bf16), DType::f32);
  EXPECT_EQ(gradient_dtype(DType::f64), DType::f64);
  EXPECT_THROW(dtype_from_name("f8"), Error);
}

TEST(Tensor, ViewsShareBytesAndCopiesDoNot) {
  const Tensor x = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4, 5}, {3, 2});
  x.rows(1, 3).reshape({4}).data<int32_t>()[1] = 30;
  EXPECT_EQ(x.data<int32_t>()[3], 30);
  x.flat(4, 2).data<int32_t>()[0] = 40;
  EXPECT_EQ(x.reshape({-1, 3}).dim(0), 2);
  const Tensor copy = x.clone();
  copy.fill_zero();
  EXPECT_EQ(x.data<int32_t>()[4], 40);
  EXPECT_EQ(x.shape().str(), "[3,2]");
  EXPECT_EQ(x.dim(-1), 2);
}

TEST(Tensor, ConvertsBetweenFloatingTypes) {
  const Tensor x = Tensor::from(std::vector<double>{0.1, -2.5, 1e300}, {3});
  EXPECT_EQ(x.to(DType::f32).data<float>()[0], 0.1f);
  EXPECT_EQ(x.to(DType::bf16).to(DType::f32).data<float>()[1], -2.5f);
  EXPECT_EQ(x.to(DType::f64).bytes_data(), x.bytes_data()) << "nothing to convert";
}

TEST(Tensor, WrongUseIsCaughtAsOurOwnFault) {
  const Tensor x = Tensor::zeros({2, 3}, DType::f32);
  for (const std::function<void()>& wrong : std::vector<std::function<void()>>{
           [&] { (void)x.data<double>(); }, [&] { (void)x.reshape({7}); },
           [&] { (void)x.rows(1, 3); }, [&] { (void)x.flat(5, 2); },
           [&] { x.copy_from(Tensor::zeros({5}, DType::f32)); }}) {
    try {
      wrong();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::internal);
    }
  }
}

// No shape of a file may wrap round to a small one.
TEST(Tensor, RefusesShapesThatNoMemoryHolds) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const MemoryUse before = memory_use();
  for (const Shape& shape :
       {Shape{kMost, 64}, Shape{int64_t{1} << 32, int64_t{1} << 32}, Shape{int64_t{1} << 62},
        Shape{kMost}, Shape{int64_t{1} << 61, 2}, Shape{3, -2}, Shape{-5}}) {
    for (const auto make : {&Tensor::empty, &Tensor::zeros}) {
      try {
        (void)make(shape, DType::f32, Device{});
        ADD_FAILURE() << shape.str();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::failure) << error.what();
        EXPECT_NE(std::string(error.what()).find(shape.str()), std::string::npos) << error.what();
      }
    }
  }
  EXPECT_EQ(memory_use().live, before.live);
  EXPECT_EQ(Tensor::zeros({kMost, 0}, DType::f32).size(), 0);
}

TEST(Tensor, ViewsDoNotWrapRound) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Tensor x = Tensor::zeros({2, 3}, DType::f32);
  EXPECT_THROW((void)x.flat(1, kMost), Error);
  EXPECT_THROW((void)x.flat(kMost, 1), Error);
  EXPECT_THROW((void)x.flat(0, -1), Error);
  EXPECT_THROW((void)x.reshape({int64_t{1} << 33, int64_t{1} << 31, -1}), Error);
  EXPECT_THROW((void)x.rows(-1, 1), Error);
}

TEST(Memory, WhatIsRefusedIsNotCounted) {
  const MemoryUse before = memory_use();
  EXPECT_THROW((void)Tensor::empty({(int64_t{1} << 62) + 1}, DType::u8), Error);
  EXPECT_EQ(memory_use().live, before.live);
  EXPECT_EQ(memory_use().system, before.system);
}

TEST(Memory, IsKeptForReuseAndGivenBackOnRequest) {
  release_unused_memory();
  const MemoryUse before = memory_use();
  std::byte* first = nullptr;
  {
    const Tensor x = Tensor::empty({1 << 20}, DType::f32);
    first = x.bytes_data();
    EXPECT_GE(memory_use().live, before.live + (4 << 20));
  }
  EXPECT_EQ(memory_use().live, before.live);
  EXPECT_GE(memory_use().system, before.system + (4 << 20));
  EXPECT_EQ(Tensor::empty({1 << 20}, DType::f32).bytes_data(), first);
  release_unused_memory();
  EXPECT_EQ(memory_use().system, before.system);
}

int64_t resident_bytes() {
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(Memory, BlocksABitLargerThanHugePagesTakeNoFurtherOnes) {
  constexpr int64_t kCount = 32, kBytes = (2 << 20) + (1 << 17);
  release_unused_memory();
  const int64_t before = resident_bytes();
  std::vector<Tensor> held;
  for (int64_t i = 0; i < kCount; ++i) held.push_back(Tensor::zeros({kBytes}, DType::u8));
  EXPECT_LT(resident_bytes() - before, kCount * kBytes * 5 / 4);
}

}  // namespace
}  // namespace skein
