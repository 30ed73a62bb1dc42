// Weights times values must be what attention gives, whatever the structure.
#include "skein/kernels/attention_weights.h"

#include "support/drawn_attention.h"

namespace skein::kernels {
namespace {

using test::AttentionSizes;
using test::drawn_attention;
using test::DrawnAttention;

Tensor attended(const DrawnAttention& drawn) {
  const Tensor &q = drawn.in[0], out = Tensor::empty(q.shape(), q.dtype()),
               level = Tensor::empty({q.dim(0), q.dim(2), q.dim(1)}, gradient_dtype(q.dtype()));
  attention(Cpu{}, q, drawn.in[1], drawn.in[2], drawn.arguments, Out(out), Out(level));
  return out;
}

double weighted_value(const Tensor& weights, const DrawnAttention& drawn, int64_t row, int64_t d) {
  const AttentionSizes& s = drawn.sizes;
  const int64_t head = row / s.queries % s.heads, sample = row / s.queries / s.heads;
  double sum = 0;
  for (int64_t key = 0; key < s.keys; ++key) {
    const int64_t at =
        ((sample * s.keys + key) * s.groups + head / (s.heads / s.groups)) * s.width + d;
    sum += weights.data<double>()[row * s.keys + key] * drawn.in[2].data<double>()[at];
  }
  return sum;
}

TEST(AttentionWeights, MakeWhatAttentionGives) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const DrawnAttention drawn = drawn_attention(seed);
    const AttentionSizes& s = drawn.sizes;
    const Tensor out = attended(drawn),
                 weights = attention_weights(drawn.in[0], drawn.in[1], drawn.arguments);
    ASSERT_EQ(weights.shape(), (Shape{s.samples, s.heads, s.queries, s.keys}));
    double worst = 0;
    for (int64_t row = 0; row < s.samples * s.heads * s.queries; ++row)
      for (int64_t d = 0; d < s.width; ++d) {
        const int64_t head = row / s.queries % s.heads, sample = row / s.queries / s.heads,
                      at = ((sample * s.queries + row % s.queries) * s.heads + head) * s.width + d;
        worst = std::max(worst,
                         std::abs(weighted_value(weights, drawn, row, d) - out.data<double>()[at]));
      }
    EXPECT_LT(worst, 1e-12) << seed;
  }
}

TEST(AttentionWeights, AddUpToOneWhereAnythingIsSeen) {
  int empty = 0, whole = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const DrawnAttention drawn = drawn_attention(seed);
    const Tensor weights = attention_weights(drawn.in[0], drawn.in[1], drawn.arguments);
    for (int64_t row = 0; row < weights.size() / drawn.sizes.keys; ++row) {
      double sum = 0;
      for (int64_t key = 0; key < drawn.sizes.keys; ++key)
        sum += weights.data<double>()[row * drawn.sizes.keys + key];
      ++(sum == 0 ? empty : whole);
      EXPECT_NEAR(sum, sum == 0 ? 0 : 1, 1e-12) << seed;
    }
  }
  EXPECT_GT(empty, 0);
  EXPECT_GT(whole, 1000);
}

TEST(AttentionWeights, ReadTensorsOfAnyType) {
  DrawnAttention drawn = drawn_attention(3);
  drawn.arguments.bias = {};
  const Tensor exact = attention_weights(drawn.in[0], drawn.in[1], drawn.arguments);
  const Tensor rough =
      attention_weights(drawn.in[0].to(DType::bf16), drawn.in[1].to(DType::bf16), drawn.arguments);
  ASSERT_EQ(rough.dtype(), DType::f64);
  for (int64_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(rough.data<double>()[i], exact.data<double>()[i], 0.02);
}

}  // namespace
}  // namespace skein::kernels
