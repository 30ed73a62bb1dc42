// The smaller kernels against their formulas, in every type; and equal bits whatever the batch and
// the threads.
#include <cmath>
#include <limits>
#include <omp.h>
#include <set>

#include "skein/core/philox.h"
#include "skein/kernels/adamw.h"
#include "skein/kernels/elementwise.h"
#include "skein/kernels/embedding.h"
#include "skein/kernels/loss.h"
#include "skein/kernels/norm.h"
#include "skein/kernels/reduce.h"

#include "support/kernel_check.h"

namespace skein {
namespace {

using test::bytes_of;
using test::random_tensor;

class Types : public testing::TestWithParam<DType> {
 protected:
  double tolerance() const {
    return GetParam() == DType::f64 ? 1e-12 : GetParam() == DType::f32 ? 2e-6 : 2e-2;
  }
  Tensor random(const Shape& shape, uint64_t seed) const {
    return random_tensor(shape, seed, GetParam());
  }
  Tensor blank(const Shape& shape) const { return Tensor::zeros(shape, GetParam()); }
  Tensor sums(const Shape& shape) const { return Tensor::zeros(shape, gradient_dtype(GetParam())); }
  static double at(const Tensor& x, int64_t i) { return x.to(DType::f64).data<double>()[i]; }
  void expect_each(const Tensor& found, const std::function<double(int64_t)>& wanted) const {
    for (int64_t i = 0; i < found.size(); ++i) {
      const double value = wanted(i);
      ASSERT_NEAR(at(found, i), value, tolerance() * std::max(1.0, std::abs(value))) << i;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, Types, testing::Values(DType::f32, DType::f64, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(Types, Arithmetic) {
  const Tensor a = random({3, 7}, 1), b = random({3, 7}, 2), bias = random({7}, 3),
               out = blank({3, 7});
  kernels::add(Cpu{}, a, b, Out(out));
  expect_each(out, [&](int64_t i) { return at(a, i) + at(b, i); });
  kernels::scale(Cpu{}, a, 0.3, Out(out));
  expect_each(out, [&](int64_t i) { return at(a, i) * 0.3; });
  kernels::add_bias(Cpu{}, a, bias, Out(out));
  expect_each(out, [&](int64_t i) { return at(a, i) + at(bias, i % 7); });
  const Tensor sum = sums({3, 7});
  kernels::accumulate(Cpu{}, a, Out(sum));
  kernels::accumulate(Cpu{}, a, Out(sum));
  expect_each(sum, [&](int64_t i) { return 2 * at(a, i); });
  const Tensor columns = sums({7});
  kernels::bias_backward(Cpu{}, a, Out(columns));
  expect_each(columns, [&](int64_t i) { return at(a, i) + at(a, 7 + i) + at(a, 14 + i); });
}

TEST_P(Types, Activations) {
  const Tensor x = random({4, 33}, 1), gate = random({4, 33}, 2), out = blank({4, 33});
  kernels::activation(Cpu{}, kernels::Activation::relu, x, Out(out));
  expect_each(out, [&](int64_t i) { return std::max(0.0, at(x, i)); });
  kernels::activation(Cpu{}, kernels::Activation::gelu_erf, x, Out(out));
  expect_each(out,
              [&](int64_t i) { return at(x, i) * (1 + std::erf(at(x, i) / std::sqrt(2))) / 2; });
  kernels::activation(Cpu{}, kernels::Activation::gelu_tanh, x, Out(out));
  expect_each(out, [&](int64_t i) {
    const double v = at(x, i);
    return v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))) / 2;
  });
  kernels::gated(Cpu{}, kernels::Activation::silu, gate, x, Out(out));
  expect_each(out,
              [&](int64_t i) { return at(gate, i) / (1 + std::exp(-at(gate, i))) * at(x, i); });
}

TEST_P(Types, TangentKeepsItsDigitsNearZero) {
  const int64_t count = 400;
  const Tensor spread = Tensor::empty({count}, DType::f64), out = blank({count});
  for (int64_t i = 0; i < count; ++i)
    spread.data<double>()[i] = (i % 2 ? 1 : -1) * std::exp(-18 + 0.05 * static_cast<double>(i));
  const Tensor x = spread.to(GetParam());
  kernels::activation(Cpu{}, kernels::Activation::tanh, x, Out(out));
  for (int64_t i = 0; i < count; ++i)
    ASSERT_NEAR(at(out, i) / std::tanh(at(x, i)), 1, tolerance()) << at(x, i);
}

TEST_P(Types, Norms) {
  const int64_t width = 37;
  const Tensor x = random({5, width}, 1), gain = random({width}, 2), bias = random({width}, 3),
               out = blank({5, width});
  const Tensor mean = sums({5}), rstd = sums({5});
  for (auto kind : {kernels::Norm::layer, kernels::Norm::rms, kernels::Norm::rms_zero_centered}) {
    const double base = kind == kernels::Norm::rms_zero_centered ? 1 : 0;
    const bool layer = kind == kernels::Norm::layer;
    kernels::norm(Cpu{}, x, {kind, gain, layer ? bias : Tensor(), 1e-5}, Out(out), Out(mean),
                  Out(rstd));
    expect_each(out, [&](int64_t i) {
      double centre = 0, square = 0;
      for (int64_t j = 0; j < width; ++j)
        centre += layer ? at(x, i / width * width + j) / width : 0;
      for (int64_t j = 0; j < width; ++j)
        square += std::pow(at(x, i / width * width + j) - centre, 2) / width;
      return (at(x, i) - centre) / std::sqrt(square + 1e-5) * (base + at(gain, i % width)) +
             (layer ? at(bias, i % width) : 0);
    });
  }
}

TEST_P(Types, EmbeddingAndSinusoid) {
  const Tensor table = random({4, 6}, 1),
               ids = Tensor::from(std::vector<int32_t>{5, 9, 6, 5, 2}, {1, 5}),
               out = blank({1, 5, 6});
  kernels::embedding(Cpu{}, table, ids, 5, Out(out));
  expect_each(out, [&](int64_t i) {
    const int32_t row = ids.data<int32_t>()[i / 6] - 5;
    return row >= 0 && row < 4 ? at(table, row * 6 + i % 6) : 0.0;
  });
  const Tensor gradient = sums({4, 6});
  kernels::embedding_backward(Cpu{}, out, ids, 5, Out(gradient));
  expect_each(gradient, [&](int64_t i) { return (i < 6 ? 2 : i < 12 ? 1 : 0) * at(table, i); });
  const Tensor positions = Tensor::from(std::vector<int32_t>{0, 7}, {1, 2}),
               waves = blank({1, 2, 6});
  kernels::sinusoid(Cpu{}, positions, kernels::Sinusoid::halves, Out(waves));
  expect_each(waves, [&](int64_t i) {
    const double angle = (i / 6 ? 7 : 0) * std::pow(10000, -static_cast<double>(i % 3) / 3);
    return i % 6 < 3 ? std::sin(angle) : std::cos(angle);
  });
}

TEST_P(Types, SquaredErrors) {
  const Tensor x = random({7, 21}, 1), values = random_tensor({7, 21}, 2, DType::f32),
               losses = sums({7}), scale = sums({7}), gradient = blank({7, 21});
  const auto miss = [&](int64_t i) {
    return at(x, i) - static_cast<double>(values.data<float>()[i]);
  };
  kernels::squared_errors(Cpu{}, x, values, Out(losses));
  expect_each(losses, [&](int64_t row) {
    double sum = 0;
    for (int64_t i = row * 21; i < row * 21 + 21; ++i) sum += miss(i) * miss(i);
    return sum / 21;
  });
  scale.copy_from(random_tensor({7}, 3).to(scale.dtype()));
  kernels::squared_errors_backward(Cpu{}, x, values, scale, Out(gradient));
  expect_each(gradient, [&](int64_t i) { return 2 * miss(i) * at(scale, i / 21) / 21; });
}

TEST_P(Types, CrossEntropyPieces) {
  const Tensor logits = random({3, 8}, 1),
               targets = Tensor::from(std::vector<int32_t>{10, 15, 3}, {3});
  const Tensor maximum = sums({3}), sum = sums({3}), target = sums({3}), scale = sums({3}),
               gradient = blank({3, 8});
  const int64_t valid = 6, first = 10;
  kernels::row_maximum(Cpu{}, logits, valid, Out(maximum));
  const auto largest = [&](int64_t row) {
    double found = -1e9;
    for (int64_t j = 0; j < valid; ++j) found = std::max(found, at(logits, row * 8 + j));
    return found;
  };
  expect_each(maximum, largest);
  kernels::row_sum_exp(Cpu{}, logits, {first, valid}, maximum, targets, Out(sum), Out(target));
  const auto whole = [&](int64_t row) {
    double found = 0;
    for (int64_t j = 0; j < valid; ++j) found += std::exp(at(logits, row * 8 + j) - largest(row));
    return found;
  };
  expect_each(sum, whole);
  expect_each(target, [&](int64_t row) {
    return row == 2 ? 0.0 : at(logits, row * 8 + (row == 0 ? 0 : 5)) - largest(row);
  });
  scale.copy_from(random_tensor({3}, 4).to(scale.dtype()));
  kernels::cross_entropy_backward(Cpu{}, {logits, {first, valid}, targets, maximum, sum}, scale,
                                  Out(gradient));
  expect_each(gradient, [&](int64_t i) {
    const int64_t row = i / 8, j = i % 8;
    if (j >= valid) return 0.0;
    const bool hit = targets.data<int32_t>()[row] == first + j;
    return (std::exp(at(logits, i) - largest(row)) / whole(row) - hit) * at(scale, row);
  });
}

// row_sum_exp of one column is the vectors' exponential of logit - maximum.
// Of every bit, wherever it is, and of the places of equal words.
TEST(Digest, ChangesWithEveryBit) {
  for (const int64_t count : {1, 7, 8, 65}) {
    const Tensor x = random_tensor({count}, 3, DType::bf16);
    const auto sum = [&](int64_t parts) {
      const Tensor made = Tensor::zeros({parts}, DType::i64);
      kernels::digest(Cpu{}, x, Out(made));
      uint64_t all = 0;
      for (const int64_t part : made.span<int64_t>()) all += static_cast<uint64_t>(part);
      return all;
    };
    const uint64_t before = sum(4);
    EXPECT_EQ(sum(1), before);
    EXPECT_EQ(sum(128), before);
    std::set<uint64_t> seen{before};
    for (int64_t bit = 0; bit < 8 * x.bytes(); ++bit) {
      const auto mask = static_cast<std::byte>(1 << bit % 8);
      x.bytes_data()[bit / 8] ^= mask;
      EXPECT_TRUE(seen.insert(sum(4)).second) << bit;
      x.bytes_data()[bit / 8] ^= mask;
    }
  }
  const Tensor words = Tensor::from(std::vector<int64_t>{1, 2, 2}, {3}),
               moved = Tensor::from(std::vector<int64_t>{2, 1, 2}, {3});
  const Tensor a = Tensor::zeros({1}, DType::i64), b = Tensor::zeros({1}, DType::i64);
  kernels::digest(Cpu{}, words, Out(a));
  kernels::digest(Cpu{}, moved, Out(b));
  EXPECT_NE(*a.data<int64_t>(), *b.data<int64_t>());
}

TEST(Exponential, IsWithinTwoUlp) {
  const int64_t rows = 200000;
  const Tensor logits = Tensor::empty({rows, 1}, DType::f32),
               maximum = Tensor::zeros({rows}, DType::f32),
               sums = Tensor::empty({rows}, DType::f32),
               targets = Tensor::zeros({rows}, DType::i32),
               target = Tensor::empty({rows}, DType::f32);
  for (int64_t i = 0; i < rows; ++i)
    logits.data<float>()[i] = -87.0f + 175.0f * static_cast<float>(i) / rows;
  kernels::row_sum_exp(Cpu{}, logits, {0, 1}, maximum, targets, Out(sums), Out(target));
  double worst = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const double wanted = std::exp(static_cast<double>(logits.data<float>()[i]));
    const auto near = static_cast<float>(wanted);
    const double ulp = static_cast<double>(std::nextafter(near, INFINITY)) - near;
    worst = std::max(worst, std::abs(sums.data<float>()[i] - wanted) / ulp);
  }
  EXPECT_LT(worst, 2);
}

TEST(Exponential, OfInfinitiesAndNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor logits =
      Tensor::from(std::vector<float>{-infinity, infinity, std::nanf(""), -200, 0}, {5, 1});
  const Tensor maximum = Tensor::zeros({5}, DType::f32), sums = Tensor::empty({5}, DType::f32),
               targets = Tensor::zeros({5}, DType::i32), target = Tensor::empty({5}, DType::f32);
  kernels::row_sum_exp(Cpu{}, logits, {0, 1}, maximum, targets, Out(sums), Out(target));
  const float* found = sums.data<float>();
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], infinity);
  EXPECT_TRUE(std::isnan(found[2]));
  EXPECT_EQ(found[3], 0);
  EXPECT_EQ(found[4], 1);
}

// Against f64: what is lost where 1 + erf(x) cancels is at most an ulp or two of the sum.
TEST(Activation, ByTheErrorFunctionIsNearItsFormula) {
  const int64_t count = 40001;
  const Tensor x = Tensor::empty({count}, DType::f32), out = Tensor::empty(x.shape(), x.dtype()),
               slopes = Tensor::empty(x.shape(), x.dtype()),
               ones = Tensor::empty(x.shape(), x.dtype());
  for (int64_t i = 0; i < count; ++i) {
    x.data<float>()[i] = -8.0f + 16.0f * static_cast<float>(i) / count;
    ones.data<float>()[i] = 1;
  }
  kernels::activation(Cpu{}, kernels::Activation::gelu_erf, x, Out(out));
  kernels::activation_backward(Cpu{}, kernels::Activation::gelu_erf, x, ones, Out(slopes));
  for (int64_t i = 0; i < count; ++i) {
    const double at = x.data<float>()[i], cdf = 0.5 * std::erfc(-at * std::sqrt(0.5));
    ASSERT_NEAR(out.data<float>()[i], at * cdf, 2e-7 * std::max(1.0, std::abs(at))) << at;
    ASSERT_NEAR(slopes.data<float>()[i], cdf + at * std::exp(-at * at / 2) / std::sqrt(2 * M_PI),
                5e-7)
        << at;
  }
}

TEST(Bits, OfAnElementDoNotDependOnItsPosition) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    const Tensor x = random_tensor({100}, 1, dtype), whole = Tensor::empty(x.shape(), x.dtype());
    for (auto kind :
         {kernels::Activation::gelu_tanh, kernels::Activation::gelu_erf, kernels::Activation::relu,
          kernels::Activation::tanh, kernels::Activation::silu, kernels::Activation::elu}) {
      kernels::activation(Cpu{}, kind, x, Out(whole));
      for (int64_t first = 0; first < 40; ++first) {
        const Tensor part = Tensor::empty({7}, dtype);
        kernels::activation(Cpu{}, kind, x.flat(first, 7), Out(part));
        ASSERT_EQ(test::bytes_of(part), test::bytes_of(whole.flat(first, 7))) << first;
      }
    }
  }
}

TEST(Activations, OfNaNAreNaN) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (auto kind :
         {kernels::Activation::gelu_tanh, kernels::Activation::gelu_erf, kernels::Activation::relu,
          kernels::Activation::tanh, kernels::Activation::silu, kernels::Activation::elu}) {
      const Tensor x = Tensor::from(std::vector(33, std::nan("")), {33}).to(dtype), y = x.like();
      kernels::activation(Cpu{}, kind, x, Out(y));
      for (double one : test::values_of(y)) EXPECT_TRUE(std::isnan(one)) << name_of(dtype);
    }
}

TEST(AdamW, IsItsFormula) {
  for (DType working : {DType::f32, DType::bf16}) {
    const int64_t n = 1000;
    const Tensor master = random_tensor({n}, 1, DType::f32), m = Tensor::zeros({n}, DType::f32),
                 v = Tensor::zeros({n}, DType::f32);
    const Tensor copy = Tensor::zeros({n}, working);
    std::vector<double> x(n), first(n, 0), second(n, 0);
    for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i)] = master.data<float>()[i];
    for (int64_t step = 1; step <= 3; ++step) {
      const Tensor gradient = random_tensor({n}, 10 + static_cast<uint64_t>(step), DType::f32);
      kernels::adamw(Cpu{}, {0.9, 0.95, 1e-8, 0.5, step}, {{1e-2, 0.1, gradient}},
                     {{Out(master), Out(m), Out(v), Out(copy)}});
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        const double g = 0.5 * gradient.data<float>()[i];
        first[i] = 0.9 * first[i] + 0.1 * g;
        second[i] = 0.95 * second[i] + 0.05 * g * g;
        const double power = static_cast<double>(step),
                     mean = first[i] / (1 - std::pow(0.9, power));
        x[i] -= 1e-2 *
                (mean / (std::sqrt(second[i] / (1 - std::pow(0.95, power))) + 1e-8) + 0.1 * x[i]);
      }
    }
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      ASSERT_NEAR(master.data<float>()[i], x[i], 2e-6 * std::max(1.0, std::abs(x[i])));
      ASSERT_EQ(copy.to(DType::f32).data<float>()[i],
                master.to(working).to(DType::f32).data<float>()[i]);
    }
  }
}

TEST(AdamW, StochasticRoundingKeepsTheMeanAndItsStream) {
  const int64_t n = 20000;
  const float value = 1.0f + 0x1p-9f;  // a quarter of the way from 1 to the next bf16
  const Tensor values = Tensor::from(std::vector<float>(n, value), {n}),
               rounded = Tensor::empty({n}, DType::bf16),
               part = Tensor::empty({n - 11}, DType::bf16);
  kernels::stochastic_round(Cpu{}, {5, 7, 0, {}}, values, Out(rounded));
  kernels::stochastic_round(Cpu{}, {5, 7, 11, {}}, values.flat(11, n - 11), Out(part));
  EXPECT_EQ(test::bytes_of(part), test::bytes_of(rounded.flat(11, n - 11)));
  double mean = 0;
  for (double x : test::values_of(rounded)) {
    EXPECT_TRUE(x == 1 || x == 1 + 0x1p-7);
    mean += x / static_cast<double>(n);
  }
  EXPECT_NEAR(mean, value, 1e-4);
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor ends = Tensor::from(std::vector<float>{infinity, -infinity, 0, 1}, {4}),
               kept = Tensor::empty({4}, DType::bf16);
  kernels::stochastic_round(Cpu{}, {5, 7, 0, {}}, ends, Out(kept));
  EXPECT_EQ(test::values_of(kept), (std::vector<double>{infinity, -infinity, 0, 1}));
}

TEST(Dropout, DropsItsShareAndScalesTheRest) {
  const Tensor ones = Tensor::from(std::vector<float>(2 * 100 * 50, 1.0f), {2, 100, 50}),
               out = Tensor::zeros({2, 100, 50}, DType::f32);
  const kernels::DropoutMask mask{0.25, 9, Tensor::from(std::vector<int64_t>{4, 7}, {2}), 0};
  kernels::dropout(Cpu{}, ones, mask, Out(out));
  double kept = 0;
  for (float value : out.span<float>()) {
    EXPECT_TRUE(value == 0 || std::abs(value - 4.0f / 3) < 1e-6f);
    kept += value > 0;
  }
  for (uint64_t i = 0; i < 5000; ++i)
    EXPECT_EQ(out.data<float>()[5000 + i] == 0, philox(9, 7, i / 4)[i % 4] < (1u << 30)) << i;
  EXPECT_NEAR(kept / 10000, 0.75, 0.02);
  // One sample alone, from its 30th position on, has the same mask.
  const Tensor part = Tensor::zeros({1, 70, 50}, DType::f32);
  kernels::dropout(Cpu{}, ones.flat(0, 3500).reshape({1, 70, 50}),
                   {0.25, 9, Tensor::from(std::vector<int64_t>{7}, {1}), 30}, Out(part));
  EXPECT_EQ(bytes_of(part), bytes_of(out.flat(5000 + 1500, 3500)));
}

TEST(Reduce, SquareSumsAndSwaps) {
  const Tensor x = random_tensor({2500}, 1, DType::f32), sums = Tensor::zeros({3}, DType::f64);
  kernels::chunk_square_sums(Cpu{}, x, 1000, Out(sums));
  for (int64_t c = 0; c < 3; ++c) {
    double sum = 0;
    for (int64_t i = c * 1000; i < std::min<int64_t>(2500, c * 1000 + 1000); ++i)
      sum += std::pow(double{x.data<float>()[i]}, 2);
    EXPECT_NEAR(sums.data<double>()[c], sum, 1e-9 * sum);
  }
  const Tensor swapped = Tensor::zeros({5, 2, 3}, DType::f32),
               from = random_tensor({2, 5, 3}, 2, DType::f32);
  kernels::swap_leading(Cpu{}, from, Out(swapped));
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 5; ++b)
      for (int64_t c = 0; c < 3; ++c)
        EXPECT_EQ(swapped.data<float>()[(b * 2 + a) * 3 + c],
                  from.data<float>()[(a * 5 + b) * 3 + c]);
}

TEST(Reduce, CopiesPositionsAndNothingElse) {
  const Tensor from = random_tensor({2, 5, 3}, 2, DType::f32),
               before = random_tensor({2, 4, 3}, 3, DType::f32), out = before.clone();
  kernels::copy_positions(Cpu{}, from, 3, 2, 1, Out(out));
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t c = 0; c < 3; ++c) {
        const bool copied = b == 1 || b == 2;
        EXPECT_EQ(out.data<float>()[(a * 4 + b) * 3 + c],
                  copied ? from.data<float>()[(a * 5 + b + 2) * 3 + c]
                         : before.data<float>()[(a * 4 + b) * 3 + c]);
      }
}

TEST(Reduce, CopiesTailsAndNothingElse) {
  const Tensor before = random_tensor({3, 5, 2}, 3, DType::f32), out = before.clone();
  const Tensor moves = Tensor::from(std::vector<int32_t>{2, 0, 1, 2, 1, 3}, {2, 3});
  kernels::copy_tails(Cpu{}, moves, 4, Out(out));
  for (int64_t a = 0; a < 3; ++a)
    for (int64_t b = 0; b < 5; ++b) {
      const bool copied = b < 4 && ((a == 0 && b >= 1) || (a == 1 && b >= 3));
      for (int64_t c = 0; c < 2; ++c)
        EXPECT_EQ(out.data<float>()[(a * 5 + b) * 2 + c],
                  before.data<float>()[((copied ? 2 : a) * 5 + b) * 2 + c])
            << a << " " << b;
    }
}

// Every result of a few kernels, as bytes.
std::vector<std::byte> some_results(int64_t rows) {
  const int64_t width = 129;
  const Tensor x = random_tensor({40, width}, 1, DType::f32).rows(0, rows),
               gain = random_tensor({width}, 2, DType::f32);
  const Tensor out = Tensor::zeros(x.shape(), DType::f32),
               dx = Tensor::zeros(x.shape(), DType::f32);
  const Tensor mean = Tensor::zeros({rows}, DType::f32), rstd = Tensor::zeros({rows}, DType::f32);
  kernels::norm(Cpu{}, x, {kernels::Norm::layer, gain, gain, 1e-5}, Out(out), Out(mean), Out(rstd));
  const Tensor dgain = Tensor::zeros({width}, DType::f32),
               dbias = Tensor::zeros({width}, DType::f32);
  // In two calls of half the rows each: gradients fold over rows in order.
  for (int64_t half = 0; half < 2; ++half) {
    const int64_t from = half * (rows / 2), to = half ? rows : rows / 2;
    kernels::norm_backward(
        Cpu{},
        {kernels::Norm::layer, x.rows(from, to), gain, mean.rows(from, to), rstd.rows(from, to)},
        out.rows(from, to), {}, Out(dx.rows(from, to)), Out(dgain), Out(dbias));
  }
  std::vector<std::byte> all = bytes_of(dx);
  for (const Tensor& tensor : {out, dgain, dbias}) {
    const auto bytes = bytes_of(tensor);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

TEST(Bits, DoNotDependOnThreads) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto expected = some_results(40);
  for (int threads : {2, 3, 7}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(some_results(40), expected) << threads;
  }
  omp_set_num_threads(before);
}

TEST(Bits, OfWeightGradientsDoNotDependOnHowRowsAreCut) {
  const int64_t width = 65;
  const Tensor x = random_tensor({24, width}, 1, DType::f32),
               gain = random_tensor({width}, 2, DType::f32),
               dy = random_tensor({24, width}, 3, DType::f32);
  const Tensor out = Tensor::zeros(x.shape(), DType::f32),
               dx = Tensor::zeros(x.shape(), DType::f32);
  const Tensor mean = Tensor::zeros({24}, DType::f32), rstd = Tensor::zeros({24}, DType::f32);
  kernels::norm(Cpu{}, x, {kernels::Norm::rms, gain, {}, 1e-5}, Out(out), Out(mean), Out(rstd));
  std::vector<std::byte> expected;
  for (int64_t rows : {24, 12, 8, 1}) {
    const Tensor dgain = Tensor::zeros({width}, DType::f32);
    for (int64_t from = 0; from < 24; from += rows)
      kernels::norm_backward(Cpu{},
                             {kernels::Norm::rms, x.rows(from, from + rows), gain,
                              mean.rows(from, from + rows), rstd.rows(from, from + rows)},
                             dy.rows(from, from + rows), {}, Out(dx.rows(from, from + rows)),
                             Out(dgain), Out());
    if (expected.empty()) expected = bytes_of(dgain);
    EXPECT_EQ(bytes_of(dgain), expected) << rows;
  }
}

}  // namespace
}  // namespace skein
