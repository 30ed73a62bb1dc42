// Buckets by hashing, and rounds put together.
#include "skein/kernels/hashing.h"

#include <cmath>
#include <limits>
#include <omp.h>

#include "support/kernel_check.h"

namespace skein {
namespace {

using test::random_tensor;

// By the definition.
int32_t bucket_at(const Tensor& x, const Tensor& rotations, const std::vector<int64_t>& sides,
                  int64_t row, int64_t head, int64_t round) {
  const int64_t width = x.dim(2), planes = rotations.dim(3);
  const auto numbers = test::values_of(x), turns = test::values_of(rotations);
  int64_t made = 0, weight = 1, first = 0;
  for (const int64_t side : sides) {
    int64_t best = 0;
    double most = -1e300;
    for (int64_t i = 0; i < side; ++i) {
      const int64_t plane = first + i % (side / 2);
      double sum = 0;
      for (int64_t d = 0; d < width; ++d)
        sum += numbers[(row * x.dim(1) + head) * width + d] *
               turns[((head * rotations.dim(1) + round) * width + d) * planes + plane];
      if (i >= side / 2) sum = -sum;
      if (sum > most) best = i;
      most = std::max(most, sum);
    }
    made += weight * best;
    weight *= side;
    first += side / 2;
  }
  return static_cast<int32_t>(made);
}

TEST(HashBuckets, AreTheLargestProductsOfEachDigit) {
  for (const std::vector<int64_t>& sides : {std::vector<int64_t>{8}, {2}, {6, 4}}) {
    int64_t planes = 0;
    for (const int64_t side : sides) planes += side / 2;
    for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      const Tensor x = random_tensor({37, 3, 5}, 1, dtype),
                   rotations = random_tensor({3, 2, 5, planes}, 2, DType::f32),
                   buckets = Tensor::empty({37, 3, 2}, DType::i32);
      kernels::hash_buckets(Cpu{}, x, rotations, sides, Out(buckets));
      for (int64_t i = 0; i < buckets.size(); ++i)
        EXPECT_EQ(buckets.data<int32_t>()[i],
                  bucket_at(x, rotations, sides, i / 6, i / 2 % 3, i % 2))
            << i;
    }
  }
}

// Of equal products the first counts, as of a vector of zeros.
TEST(HashBuckets, OfNothingAreTheFirst) {
  const Tensor buckets = Tensor::empty({2, 1, 1}, DType::i32);
  kernels::hash_buckets(Cpu{}, Tensor::zeros({2, 1, 4}, DType::f32),
                        random_tensor({1, 1, 4, 6}, 2, DType::f32), {4, 8}, Out(buckets));
  EXPECT_EQ(buckets.data<int32_t>()[0], 0);
}

// Row 0 is in three rounds, row 1 in one, row 2 nowhere, of row 3 one part weighs nothing, of row 4
// none weighs. Part 2 is nobody's.
const Tensor kPartsOfRows =
    Tensor::from(std::vector<int32_t>{4, -1, -1, 0, 7, 1, 3, -1, 5, -1, 6, -1, -1, -1, -1}, {3, 5});

Tensor levels_of(DType dtype) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  return Tensor::from(std::vector<double>{0.5, -1, 3, 2, 1.5, kNothing, 0.25, kNothing}, {8})
      .to(gradient_dtype(dtype));
}

TEST(MergeRounds, WeighsPartsByTheirLevels) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    const Tensor parts = random_tensor({8, 3}, 1, dtype), y = parts.like({5, 3});
    kernels::merge_rounds(Cpu{}, {parts, levels_of(dtype), kPartsOfRows}, Out(y));
    const auto numbers = test::values_of(parts), found = test::values_of(y);
    const double a = std::exp(1.5), b = std::exp(-1.0), c = std::exp(0.25);
    for (size_t i = 0; i < 3; ++i) {
      const double tolerance = dtype == DType::bf16 ? 1e-2 : 1e-6;
      EXPECT_NEAR(found[i],
                  (a * numbers[12 + i] + b * numbers[3 + i] + c * numbers[18 + i]) / (a + b + c),
                  tolerance);
      EXPECT_EQ(found[3 + i], numbers[9 + i]) << "a single part is the row";
      EXPECT_EQ(found[6 + i], 0);
      EXPECT_EQ(found[9 + i], numbers[i]);
      EXPECT_EQ(found[12 + i], 0);
    }
  }
}

TEST(MergeRounds, HidesNoNumberThatIsNone) {
  const Tensor parts = random_tensor({2, 1}, 1, DType::f32), y = parts.like({1, 1}),
               rows = Tensor::from(std::vector<int32_t>{0, 1}, {2, 1});
  const Tensor levels =
      Tensor::from(std::vector<float>{0, std::numeric_limits<float>::quiet_NaN()}, {2});
  kernels::merge_rounds(Cpu{}, {parts, levels, rows}, Out(y));
  EXPECT_TRUE(std::isnan(y.data<float>()[0]));
}

TEST(MergeRounds, BitsDoNotDependOnThreads) {
  const Tensor parts = random_tensor({6000, 9}, 1, DType::f32),
               levels = random_tensor({6000}, 2, DType::f32), y = parts.like({3000, 9});
  std::vector<int32_t> rows(6000);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int32_t>(i * 7 % 6000);
  const kernels::RoundParts from{parts, levels, Tensor::from(rows, {2, 3000})};
  const int before = omp_get_max_threads();
  std::vector<std::vector<std::byte>> made;
  for (int threads : {1, 3}) {
    omp_set_num_threads(threads);
    const Tensor dparts = parts.like(), dlevels = levels.like();
    kernels::merge_rounds(Cpu{}, from, Out(y));
    kernels::merge_rounds_backward(Cpu{}, from, y, y, Out(dparts), Out(dlevels));
    made.push_back(test::bytes_of(y));
    made.push_back(test::bytes_of(dparts));
    made.push_back(test::bytes_of(dlevels));
  }
  omp_set_num_threads(before);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(made[i], made[3 + i]) << i;
}

}  // namespace
}  // namespace skein
