// Attention against its definition, and what its bits may not depend on.
#include "skein/kernels/attention.h"

#include <cmath>
#include <limits>
#include <omp.h>

#include "skein/kernels/rotary.h"

#include "support/drawn_attention.h"
#include "support/kernel_check.h"

namespace skein {
namespace {

using kernels::AttentionArguments;
using test::bytes_of;
using test::random_tensor;

struct Sizes {
  int64_t batch, queries, keys, heads, kv_heads, width;
};

double naive(const Sizes& s, const Tensor& q, const Tensor& k, const Tensor& v,
             const AttentionArguments& a, int64_t b, int64_t t, int64_t h, int64_t d) {
  const kernels::PatternView seen(a.pattern, b, h, s.queries, s.keys);
  const int64_t g = h / (s.heads / s.kv_heads);
  std::vector<double> scores;
  for (int64_t j = 0; j < s.keys; ++j) {
    double dot = 0;
    for (int64_t e = 0; e < s.width; ++e)
      dot += q.data<double>()[((b * s.queries + t) * s.heads + h) * s.width + e] *
             k.data<double>()[((b * s.keys + j) * s.kv_heads + g) * s.width + e];
    const bool hidden = seen.times(t, j) == 0;
    scores.push_back(hidden ? -std::numeric_limits<double>::infinity() : a.scale * dot);
  }
  double sum = 0, y = 0;
  for (int64_t j = 0; j < s.keys; ++j) {
    const double weight = std::exp(scores[static_cast<size_t>(j)]);
    sum += weight;
    y += weight * v.data<double>()[((b * s.keys + j) * s.kv_heads + g) * s.width + d];
  }
  return sum > 0 ? y / sum : 0;
}

Tensor attended(const Tensor& q, const Tensor& k, const Tensor& v,
                const AttentionArguments& arguments) {
  const Tensor out = Tensor::empty(q.shape(), q.dtype());
  kernels::attention(Cpu{}, q, k, v, arguments, Out(out),
                     Out(Tensor::empty({q.dim(0), q.dim(2), q.dim(1)}, gradient_dtype(q.dtype()))));
  return out;
}

void compare(const Sizes& s, const AttentionArguments& arguments) {
  const Tensor q = random_tensor({s.batch, s.queries, s.heads, s.width}, 1),
               k = random_tensor({s.batch, s.keys, s.kv_heads, s.width}, 2),
               v = random_tensor({s.batch, s.keys, s.kv_heads, s.width}, 3);
  const Tensor exact = attended(q, k, v, arguments);
  const Tensor single = attended(q.to(DType::f32), k.to(DType::f32), v.to(DType::f32), arguments);
  const Tensor half =
      attended(q.to(DType::bf16), k.to(DType::bf16), v.to(DType::bf16), arguments).to(DType::f32);
  for (int64_t i = 0; i < exact.size(); ++i) {
    const int64_t d = i % s.width, h = i / s.width % s.heads, t = i / s.width / s.heads % s.queries,
                  b = i / s.width / s.heads / s.queries;
    const double wanted = naive(s, q, k, v, arguments, b, t, h, d);
    ASSERT_NEAR(exact.data<double>()[i], wanted, 1e-12) << b << " " << t << " " << h << " " << d;
    ASSERT_NEAR(single.data<float>()[i], wanted, 1e-5);
    ASSERT_NEAR(half.data<float>()[i], wanted, 0.06);
  }
}

TEST(Attention, IsItsDefinitionInWindowsAndWithoutCausality) {
  for (int64_t window : {0, 1, 7, 100, 200})
    for (bool causal : {true, false})
      for (int64_t length : {5, 130, 400}) {
        AttentionArguments arguments;
        arguments.scale = 0.3;
        arguments.pattern = test::band(causal, window);
        compare({1, length, length, 2, 1, 4}, arguments);
      }
}

TEST(Attention, IsItsDefinitionAtAllBlockBorders) {
  for (int64_t length : {1, 2, 12, 13, 64, 130, 192, 193, 384, 385}) {
    AttentionArguments arguments;
    arguments.scale = 0.3;
    compare({2, length, length, 4, 2, 8}, arguments);
    arguments.pattern.query_segments = arguments.pattern.key_segments = test::runs_of(29, length);
    compare({2, length, length, 4, 4, 3}, arguments);
  }
}

TEST(Attention, IsItsDefinitionOverAnotherSequence) {
  for (const auto& [queries, keys] :
       {std::pair{1, 130}, {130, 1}, {5, 9}, {9, 5}, {40, 200}, {200, 40}})
    for (bool causal : {true, false})
      for (int64_t window : {0, 7, 100})
        for (int64_t first_query : {0, 3}) {
          SCOPED_TRACE(fmt::format("{} queries from {} on, {} keys, causal {}, window {}", queries,
                                   first_query, keys, causal, window));
          AttentionArguments arguments;
          arguments.scale = 0.3;
          arguments.pattern = test::band(causal, window);
          arguments.pattern.first_query = first_query;
          compare({2, queries, keys, 2, 1, 3}, arguments);
          arguments.pattern.query_segments = test::runs_of(11, queries);
          arguments.pattern.key_segments = test::runs_of(29, keys);
          compare({2, queries, keys, 2, 1, 3}, arguments);
        }
}

TEST(Attention, IsItsDefinitionWithACacheAndLeftPadding) {
  AttentionArguments arguments;
  arguments.scale = 0.3;
  arguments.pattern.first_key = Tensor::from(std::vector<int32_t>{5, 0, 70}, {3});
  compare({3, 90, 90, 2, 1, 8}, arguments);
  arguments.pattern.first_query = 80;
  compare({3, 1, 128, 2, 1, 8}, arguments);
  compare({3, 7, 128, 2, 2, 8}, arguments);
}

// A row that sees nothing is zero; one that sees NaN is not.
TEST(Attention, KeysThatAreNotNumbersShow) {
  for (DType dtype : {DType::f64, DType::f32, DType::bf16})
    for (int64_t keys : {1, 40, 300}) {
      const Tensor q = random_tensor({1, 3, 1, 16}, 1, dtype),
                   k = Tensor::from(std::vector(static_cast<size_t>(keys * 16), std::nan("")),
                                    {1, keys, 1, 16})
                           .to(dtype),
                   v = random_tensor({1, keys, 1, 16}, 3, dtype);
      AttentionArguments arguments;
      arguments.pattern = test::band(false, 0);
      for (double one : test::values_of(attended(q, k, v, arguments)))
        EXPECT_TRUE(std::isnan(one)) << name_of(dtype) << " " << keys;
    }
}

TEST(Attention, BitsDoNotDependOnPaddingBatchOrThreads) {
  const int64_t length = 70, pad = 13;
  const Tensor q = random_tensor({2, length, 2, 8}, 1, DType::f32),
               k = random_tensor({2, length, 2, 8}, 2, DType::f32),
               v = random_tensor({2, length, 2, 8}, 3, DType::f32);
  AttentionArguments plain;
  plain.scale = 0.3;
  const Tensor together = attended(q, k, v, plain);
  const auto shifted = [&](const Tensor& x) {  // sample 1 alone, behind padding
    const Tensor made = random_tensor({1, length + pad, 2, 8}, 9, DType::f32);
    made.flat(pad * 16, length * 16).copy_from(x.flat(length * 16, length * 16));
    return made;
  };
  AttentionArguments padded = plain;
  padded.pattern.first_key = Tensor::from(std::vector<int32_t>{pad}, {1});
  const Tensor alone = attended(shifted(q), shifted(k), shifted(v), padded);
  EXPECT_EQ(bytes_of(alone.flat(pad * 16, length * 16)),
            bytes_of(together.flat(length * 16, length * 16)));
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  EXPECT_EQ(bytes_of(attended(q, k, v, plain)), bytes_of(together));
  omp_set_num_threads(before);
}

TEST(Rotary, TurnsPairsAndBack) {
  const Tensor x = random_tensor({1, 2, 1, 4}, 1),
               positions = Tensor::from(std::vector<int32_t>{0, 3}, {1, 2});
  const Tensor turned = Tensor::empty(x.shape(), DType::f64),
               back = Tensor::empty(x.shape(), DType::f64);
  kernels::rotary(Cpu{}, x, positions, {100}, false, Out(turned));
  const double* from = x.data<double>() + 4;
  for (int j = 0; j < 2; ++j) {
    const double angle = 3 * std::pow(100, -2.0 * j / 4);
    EXPECT_NEAR(turned.data<double>()[4 + j],
                from[j] * std::cos(angle) - from[j + 2] * std::sin(angle), 1e-12);
    EXPECT_NEAR(turned.data<double>()[6 + j],
                from[j + 2] * std::cos(angle) + from[j] * std::sin(angle), 1e-12);
  }
  kernels::rotary(Cpu{}, turned, positions, {100}, true, Out(back));
  for (int64_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(back.data<double>()[i], x.data<double>()[i], 1e-12);
}

// What turns is multiplied by the amplitude on both ways, and what does not turn is left alone.
TEST(Rotary, TurnsTheFirstNumbersOfAHead) {
  const Tensor x = random_tensor({1, 2, 3, 6}, 1),
               positions = Tensor::from(std::vector<int32_t>{4, 3}, {1, 2});
  const Tensor turned = Tensor::empty(x.shape(), DType::f64), back = turned.like();
  kernels::RotaryWaves waves{100};
  waves.width = 4;
  waves.amplitude = 1.5;
  kernels::rotary(Cpu{}, x, positions, waves, false, Out(turned));
  kernels::rotary(Cpu{}, turned, positions, waves, true, Out(back));
  for (int64_t head = 0; head < 6; ++head) {
    const double *from = x.data<double>() + 6 * head, *to = turned.data<double>() + 6 * head;
    for (int j = 0; j < 2; ++j) {
      const double angle = (head < 3 ? 4 : 3) * std::pow(100, -2.0 * j / 4);
      EXPECT_NEAR(to[j], 1.5 * (from[j] * std::cos(angle) - from[j + 2] * std::sin(angle)), 1e-12);
      EXPECT_NEAR(back.data<double>()[6 * head + j], 2.25 * from[j], 1e-12);
      EXPECT_EQ(to[4 + j], from[4 + j]);
    }
  }
}

TEST(Rotary, APositionTurnsTheSameInAnyBatch) {
  const std::vector<int32_t> positions{7, 8, 9, 8, 7, 9, 9, 9};
  const Tensor x = random_tensor({8, 1, 2, 6}, 1), together = Tensor::empty(x.shape(), DType::f64),
               alone = Tensor::empty({1, 1, 2, 6}, DType::f64);
  kernels::rotary(Cpu{}, x, Tensor::from(positions, {8, 1}), {100}, false, Out(together));
  for (int64_t n = 0; n < 8; ++n) {
    kernels::rotary(Cpu{}, x.rows(n, n + 1), Tensor::from(std::vector{positions[n]}, {1, 1}), {100},
                    false, Out(alone));
    EXPECT_TRUE(std::ranges::equal(alone.span<double>(), together.rows(n, n + 1).span<double>()));
  }
}

// Frequencies read off a head of ones and zeros at position 1.
void expect_frequencies(const kernels::RotaryWaves& waves, const std::vector<double>& wanted) {
  const int64_t half = static_cast<int64_t>(wanted.size());
  std::vector<double> ones(static_cast<size_t>(2 * half), 0.0);
  std::fill_n(ones.begin(), half, 1.0);
  const Tensor x = Tensor::from(ones, {1, 1, 1, 2 * half}),
               turned = Tensor::empty(x.shape(), DType::f64);
  kernels::rotary(Cpu{}, x, Tensor::from(std::vector<int32_t>{1}, {1, 1}), waves, false,
                  Out(turned));
  for (int64_t j = 0; j < half; ++j) {
    const double frequency = std::atan2(turned.data<double>()[half + j], turned.data<double>()[j]);
    EXPECT_NEAR(frequency / wanted[static_cast<size_t>(j)], 1, 1e-6) << j;
  }
}

// ROPE_INIT_FUNCTIONS of transformers 5.24, in f32: theta 500000, factor 8, low 1, high 4, original
// context 8192, heads of 64; linear: theta 10000, factor 4, heads of 16; and yarn: theta 1e6,
// factor 4, beta_slow 1, beta_fast 32, original context 8192, heads of 64.
TEST(Rotary, StretchesFrequenciesAsTransformersDoes) {
  expect_frequencies({500000, kernels::RopeScaling::llama3, 8, 1, 4, 8192}, {1.0,
                                                                             0.663601279,
                                                                             0.440366626,
                                                                             0.292227834,
                                                                             0.193922758,
                                                                             0.128687382,
                                                                             0.0853971019,
                                                                             0.0566696189,
                                                                             0.0376060307,
                                                                             0.0249554086,
                                                                             0.0165604409,
                                                                             0.0109895291,
                                                                             0.00729266508,
                                                                             0.00483942125,
                                                                             0.00321144611,
                                                                             0.00137189368,
                                                                             0.000524846022,
                                                                             0.000178507791,
                                                                             7.78465546e-05,
                                                                             5.16590699e-05,
                                                                             3.42810235e-05,
                                                                             2.2748929e-05,
                                                                             1.50962178e-05,
                                                                             1.00178686e-05,
                                                                             6.64786967e-06,
                                                                             4.41153452e-06,
                                                                             2.92749974e-06,
                                                                             1.94269251e-06,
                                                                             1.28917316e-06,
                                                                             8.55496921e-07,
                                                                             5.6770881e-07,
                                                                             3.7673226e-07});
  expect_frequencies({10000, kernels::RopeScaling::linear, 4},
                     {0.25, 0.079056941, 0.0250000004, 0.00790569466, 0.00249999994, 0.000790569466,
                      0.000250000012, 7.90569466e-05});
  expect_frequencies({1e6, kernels::RopeScaling::yarn, 4, 1, 32, 8192}, {1.0,
                                                                         0.649381638,
                                                                         0.421696514,
                                                                         0.273841977,
                                                                         0.177827939,
                                                                         0.115478203,
                                                                         0.0749894157,
                                                                         0.0486967526,
                                                                         0.0316227786,
                                                                         0.0188239813,
                                                                         0.0111126788,
                                                                         0.00649473211,
                                                                         0.00374894217,
                                                                         0.00213018246,
                                                                         0.00118568679,
                                                                         0.000641636027,
                                                                         0.000333333359,
                                                                         0.000162345415,
                                                                         0.000105424122,
                                                                         6.84604893e-05,
                                                                         4.44569851e-05,
                                                                         2.88695483e-05,
                                                                         1.87473561e-05,
                                                                         1.21741887e-05,
                                                                         7.90569356e-06,
                                                                         5.13381246e-06,
                                                                         3.33380353e-06,
                                                                         2.16491094e-06,
                                                                         1.40585337e-06,
                                                                         9.1293532e-07,
                                                                         5.92843435e-07,
                                                                         3.84981632e-07});
}

}  // namespace
}  // namespace skein
