// bf16 on every unit that can run here, AMX's tiles in software at least.
#include "skein/kernels/units.h"

#include "skein/kernels/attention.h"
#include "skein/kernels/matmul.h"

#include "support/kernel_check.h"

namespace skein {
namespace {

using kernels::Bf16Unit;
using test::random_tensor;

class Units : public testing::TestWithParam<Bf16Unit> {
 protected:
  void SetUp() override {
    before_ = kernels::bf16_unit(Cpu{});
    if (!kernels::use_bf16_unit(Cpu{}, GetParam()))
      GTEST_SKIP() << "not on this CPU or in this build";
  }
  void TearDown() override { kernels::use_bf16_unit(Cpu{}, before_); }

 private:
  Bf16Unit before_ = Bf16Unit::f32;
};

// Sizes of op(a) [m,k] and op(b) [k,n].
void check_product(int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  const Shape left = ta ? Shape{k, m} : Shape{m, k}, right = tb ? Shape{n, k} : Shape{k, n};
  const Tensor a = random_tensor(left, 1, DType::bf16), b = random_tensor(right, 2, DType::bf16);
  const Tensor single = random_tensor({m, n}, 3, DType::f32), start = single.to(DType::f64),
               half = Tensor::empty({m, n}, DType::bf16);
  kernels::matmul(Cpu{}, a, b, {.transpose_a = ta, .transpose_b = tb, .accumulate = true},
                  Out(single));
  kernels::matmul(Cpu{}, a, b, {.transpose_a = ta, .transpose_b = tb}, Out(half));
  const Tensor wanted = Tensor::zeros({m, n}, DType::f64);
  kernels::matmul(Cpu{}, a.to(DType::f64), b.to(DType::f64), {.transpose_a = ta, .transpose_b = tb},
                  Out(wanted));
  const auto exact = test::values_of(wanted), found = test::values_of(single),
             rounded = test::values_of(half), begun = test::values_of(start);
  for (size_t i = 0; i < exact.size(); ++i) {
    ASSERT_NEAR(found[i], exact[i] + begun[i],
                2e-5 * std::sqrt(static_cast<double>(k)) + 1e-5 * std::abs(exact[i]))
        << m << " " << n << " " << k;
    ASSERT_NEAR(rounded[i], exact[i],
                4e-3 * std::abs(exact[i]) + 2e-5 * std::sqrt(static_cast<double>(k)));
  }
}

TEST_P(Units, ProductsOfEveryForm) {
  for (int64_t m : {1, 12, 31, 70})
    for (int64_t n : {1, 33, 97})
      for (int64_t k : {1, 31, 64, 801}) {
        check_product(m, n, k, false, true);
        check_product(m, n, k, false, false);
        check_product(m, n, k, true, false);
      }
}

TEST_P(Units, ProductsCutAtTheGranuleKeepTheirBits) {
  const int64_t granule = kernels::depth_granule(Cpu{}, DType::bf16), depth = 6 * granule;
  const Tensor dy = random_tensor({depth, 40}, 1, DType::bf16),
               x = random_tensor({depth, 50}, 2, DType::bf16);
  const Tensor whole = Tensor::zeros({40, 50}, DType::f32),
               parts = Tensor::zeros({40, 50}, DType::f32);
  kernels::matmul(Cpu{}, dy, x, {.transpose_a = true, .accumulate = true}, Out(whole));
  for (int64_t row = 0; row < depth; row += 2 * granule)
    kernels::matmul(Cpu{}, dy.rows(row, row + 2 * granule), x.rows(row, row + 2 * granule),
                    {.transpose_a = true, .accumulate = true}, Out(parts));
  EXPECT_EQ(test::bytes_of(whole), test::bytes_of(parts));
}

TEST_P(Units, ARowOfAProductDoesNotKnowItsBatch) {
  const Tensor a = random_tensor({70, 100}, 1, DType::bf16),
               b = random_tensor({50, 100}, 2, DType::bf16),
               all = Tensor::empty({70, 50}, DType::f32);
  kernels::matmul(Cpu{}, a, b, {.transpose_b = true}, Out(all));
  for (int64_t rows : {1, 3, 20})
    for (int64_t first : {0, 13, 50}) {
      const Tensor some = Tensor::empty({rows, 50}, DType::f32);
      kernels::matmul(Cpu{}, a.rows(first, first + rows), b, {.transpose_b = true}, Out(some));
      EXPECT_EQ(test::bytes_of(some), test::bytes_of(all.rows(first, first + rows)))
          << rows << " " << first;
    }
}

TEST_P(Units, AProductPastTheCachesHasTheBitsOfItsParts) {
  for (int64_t n : {1000, 1024}) {  // rows that begin a cache line or do not
    const int64_t m = 2200, part = 550;
    const Tensor a = random_tensor({m, 32}, 1, DType::bf16),
                 b = random_tensor({n, 32}, 2, DType::bf16),
                 bias = random_tensor({n}, 3, DType::bf16);
    const Tensor whole = Tensor::empty({m, n}, DType::bf16),
                 some = Tensor::empty({part, n}, DType::bf16);
    ASSERT_GT(whole.bytes(), 4 << 20);
    kernels::matmul(Cpu{}, a, b, {.transpose_b = true, .bias = bias}, Out(whole));
    for (int64_t first = 0; first < m; first += part) {
      kernels::matmul(Cpu{}, a.rows(first, first + part), b, {.transpose_b = true, .bias = bias},
                      Out(some));
      EXPECT_EQ(test::bytes_of(some), test::bytes_of(whole.rows(first, first + part)))
          << n << " " << first;
    }
  }
}

// Rows alone or together, with copies of b or without: the same bits.
void check_ending(int64_t m, int64_t n, int64_t k, DType dtype) {
  const Tensor a = random_tensor({m, k}, 1, dtype), b = random_tensor({n, k}, 2, dtype),
               bias = random_tensor({n}, 3, dtype);
  const Tensor c = Tensor::empty({m, n}, dtype), activated = Tensor::empty({m, n}, dtype);
  kernels::PackedCopies copies;
  kernels::matmul(Cpu{}, a, b,
                  {.transpose_b = true,
                   .bias = bias,
                   .activation = kernels::Activation::gelu_erf,
                   .copies_of_b = &copies},
                  Out(c), Out(activated));
  const Tensor sums = Tensor::empty({m, n}, DType::f64), wanted = Tensor::empty({m, n}, DType::f64);
  kernels::matmul(Cpu{}, a.to(DType::f64), b.to(DType::f64), {.transpose_b = true}, Out(sums));
  kernels::add_bias(Cpu{}, sums, bias.to(DType::f64), Out(sums));
  kernels::activation(Cpu{}, kernels::Activation::gelu_erf, c.to(DType::f64), Out(wanted));
  const auto exact = test::values_of(sums), found = test::values_of(c),
             bent = test::values_of(activated), smooth = test::values_of(wanted);
  const double share = dtype == DType::bf16 ? 4e-3 : 1e-6;
  for (size_t i = 0; i < exact.size(); ++i) {
    ASSERT_NEAR(found[i], exact[i],
                share * std::abs(exact[i]) + 2e-5 * std::sqrt(static_cast<double>(k)))
        << m << " " << n << " " << k;
    ASSERT_NEAR(bent[i], smooth[i], share * std::abs(smooth[i]) + 1e-6);
  }
  const Tensor one = Tensor::empty({1, n}, dtype), one_activated = Tensor::empty({1, n}, dtype);
  for (kernels::PackedCopies* kept : {static_cast<kernels::PackedCopies*>(nullptr), &copies}) {
    kernels::matmul(Cpu{}, a.rows(m - 1, m), b,
                    {.transpose_b = true,
                     .bias = bias,
                     .activation = kernels::Activation::gelu_erf,
                     .copies_of_b = kept},
                    Out(one), Out(one_activated));
    EXPECT_EQ(test::bytes_of(one), test::bytes_of(c.rows(m - 1, m)));
    EXPECT_EQ(test::bytes_of(one_activated), test::bytes_of(activated.rows(m - 1, m)));
  }
}

TEST_P(Units, AProductEndsWithBiasAndActivation) {
  for (int64_t m : {1, 5, 70})
    for (int64_t n : {1, 40, 800})
      for (int64_t k : {31, 64, 7000}) {
        check_ending(m, n, k, DType::bf16);
        check_ending(m, n, k, DType::f32);
      }
}

// Rows of one tile and of several meet columns in different orders.
TEST_P(Units, CopiesOfAnOperandGiveTheBitsOfTheOperand) {
  for (DType dtype : {DType::f32, DType::bf16})
    for (int64_t k : {31, 700, 3500})
      for (int64_t n : {33, 800}) {
        const Tensor b = random_tensor({n, k}, 2, dtype), bias = random_tensor({n}, 3, dtype);
        kernels::PackedCopies copies;
        for (int64_t m : {7, 13, 32, 96, 97}) {
          const Tensor a = random_tensor({m, k}, m, dtype), found = Tensor::empty({m, n}, dtype),
                       wanted = Tensor::empty({m, n}, dtype);
          kernels::matmul(Cpu{}, a, b, {.transpose_b = true, .bias = bias}, Out(wanted));
          kernels::matmul(Cpu{}, a, b, {.transpose_b = true, .bias = bias, .copies_of_b = &copies},
                          Out(found));
          EXPECT_EQ(test::bytes_of(found), test::bytes_of(wanted)) << m << " " << n << " " << k;
        }
      }
}

TEST_P(Units, CopiesOfAnOperandLiveUntilTheyAreForgotten) {
  const int64_t m = 50, n = 70, k = 100;
  const Tensor a = random_tensor({m, k}, 1, DType::bf16), b = random_tensor({n, k}, 2, DType::bf16),
               dy = random_tensor({m, n}, 3, DType::bf16);
  const Tensor y = Tensor::empty({m, n}, DType::bf16), dx = Tensor::empty({m, k}, DType::bf16),
               plain_y = test::like(y), plain_dx = test::like(dx);
  kernels::PackedCopies copies;
  const auto multiply = [&](const Tensor& forward, const Tensor& back,
                            kernels::PackedCopies* kept) {
    kernels::matmul(Cpu{}, a, b, {.transpose_b = true, .copies_of_b = kept}, Out(forward));
    kernels::matmul(Cpu{}, dy, b, {.copies_of_b = kept}, Out(back));
  };
  for (int round = 0; round < 3; ++round) {
    multiply(plain_y, plain_dx, nullptr);
    multiply(y, dx, &copies);
    EXPECT_EQ(test::bytes_of(y), test::bytes_of(plain_y));
    EXPECT_EQ(test::bytes_of(dx), test::bytes_of(plain_dx));
    EXPECT_GE(copies.bytes(), 2 * b.bytes());
    b.copy_from(random_tensor({n, k}, 10 + round, DType::bf16));
    multiply(y, dx, &copies);
    EXPECT_EQ(test::bytes_of(y), test::bytes_of(plain_y))
        << "a stale copy was not used, so nothing shows that it ever is";
    copies.forget();
  }
}

// Their strides are the same both ways; what is packed is not.
TEST_P(Units, CopiesOfAColumnAreOfTheWayItIsRead) {
  for (DType dtype : {DType::f32, DType::bf16})
    for (int64_t n : {1, 2, 40}) {
      const Tensor a = random_tensor({20, 1}, 1, dtype), b = random_tensor({n, 1}, 2, dtype),
                   dy = random_tensor({20, n}, 3, dtype);
      kernels::PackedCopies copies;
      for (int round = 0; round < 2; ++round) {
        const Tensor wanted = Tensor::empty({20, n}, dtype), y = test::like(wanted),
                     wanted_dx = Tensor::empty({20, 1}, dtype), dx = test::like(wanted_dx);
        kernels::matmul(Cpu{}, a, b, {.transpose_b = true}, Out(wanted));
        kernels::matmul(Cpu{}, a, b, {.transpose_b = true, .copies_of_b = &copies}, Out(y));
        kernels::matmul(Cpu{}, dy, b, {}, Out(wanted_dx));
        kernels::matmul(Cpu{}, dy, b, {.copies_of_b = &copies}, Out(dx));
        EXPECT_EQ(test::bytes_of(y), test::bytes_of(wanted)) << n << " " << round;
        EXPECT_EQ(test::bytes_of(dx), test::bytes_of(wanted_dx)) << n << " " << round;
      }
    }
}

TEST_P(Units, AttentionAndItsBackward) {
  for (const auto& [queries, keys] : {std::pair<int64_t, int64_t>{1, 1},
                                      {37, 37},
                                      {100, 100},
                                      {450, 450},
                                      {37, 100},
                                      {100, 37}}) {
    kernels::AttentionArguments arguments;
    arguments.scale = 0.2;
    const Shape sums{1, 2, queries};
    const auto forward = [&](const test::Tensors& in) {
      const Tensor out = test::like(in[0]);
      kernels::attention(Cpu{}, in[0], in[1], in[2], arguments, Out(out),
                         Out(Tensor::zeros(sums, gradient_dtype(in[0].dtype()))));
      return out;
    };
    const auto backward = [&](const test::Tensors& in, const Tensor& dy) {
      const Tensor out = test::like(in[0]),
                   level = Tensor::zeros(sums, gradient_dtype(in[0].dtype()));
      kernels::attention(Cpu{}, in[0], in[1], in[2], arguments, Out(out), Out(level));
      const test::Tensors found{test::like(in[0]), test::like(in[1]), test::like(in[2])};
      kernels::attention_backward(Cpu{}, {in[0], in[1], in[2], out, level}, arguments, {dy},
                                  {Out(found[0]), Out(found[1]), Out(found[2])});
      return found;
    };
    // Each weight and slope is rounded to 8 bits, and up to 450 of them are summed.
    test::check_type(forward, backward, {{1, queries, 2, 40}, {1, keys, 1, 40}, {1, keys, 1, 40}},
                     DType::bf16, 4e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Units,
                         testing::Values(Bf16Unit::f32, Bf16Unit::avx512_bf16,
                                         Bf16Unit::amx_emulated, Bf16Unit::amx),
                         [](const auto& info) -> std::string {
                           switch (info.param) {
                             case Bf16Unit::f32: return "f32";
                             case Bf16Unit::avx512_bf16: return "avx512_bf16";
                             case Bf16Unit::amx_emulated: return "amx_emulated";
                             case Bf16Unit::amx: return "amx";
                           }
                           return "";
                         });

}  // namespace
}  // namespace skein
