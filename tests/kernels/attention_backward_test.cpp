// The backward of attention under every option at once, and which weights its dropout drops.
#include "skein/kernels/attention.h"

#include "support/drawn_attention.h"
#include "support/kernel_check.h"

namespace skein {
namespace {

using kernels::AttentionArguments;
using test::bytes_of;
using test::check_backward;
using test::like;
using test::Tensors;

struct Forward {
  Tensor out, level;
};

// in: q, k, v.
Forward run(const AttentionArguments& arguments, const Tensors& in) {
  const Forward made{like(in[0]), Tensor::zeros({in[0].dim(0), in[0].dim(2), in[0].dim(1)},
                                                gradient_dtype(in[0].dtype()))};
  kernels::attention(Cpu{}, in[0], in[1], in[2], arguments, Out(made.out), Out(made.level));
  return made;
}

Tensors gradients(const AttentionArguments& arguments, const Tensors& in, const Tensor& dy) {
  const Forward made = run(arguments, in);
  const Tensors found{like(in[0]), like(in[1]), like(in[2])};
  kernels::attention_backward(Cpu{}, {in[0], in[1], in[2], made.out, made.level}, arguments, {dy},
                              {Out(found[0]), Out(found[1]), Out(found[2])});
  return found;
}

AttentionArguments every_option(int64_t length) {
  AttentionArguments arguments;
  arguments.scale = 0.6;
  arguments.pattern.query_segments = arguments.pattern.key_segments = test::runs_of(29, length);
  arguments.pattern.first_key = Tensor::from(std::vector<int32_t>{3, 0}, {2});
  arguments.dropout = 0.3;
  arguments.dropout_key = 5;
  arguments.sample_ids = Tensor::from(std::vector<int64_t>{4, 1}, {2});
  arguments.first_head = 2;
  return arguments;
}

void check(const AttentionArguments& arguments, int64_t queries, int64_t keys, int64_t kv_heads) {
  SCOPED_TRACE(fmt::format("{} queries, {} keys, {} key heads", queries, keys, kv_heads));
  const Shape there{2, keys, kv_heads, 2};
  check_backward([&](const Tensors& in) { return run(arguments, in).out; },
                 [&](const Tensors& in, const Tensor& dy) { return gradients(arguments, in, dy); },
                 {{2, queries, 4, 2}, there, there}, queries + keys < 20 ? 1 : 37, 0.1);
}

void check(const AttentionArguments& arguments, int64_t length, int64_t kv_heads) {
  check(arguments, length, length, kv_heads);
}

TEST(AttentionBackward, IsTheSlopeUnderAllOptionsAtBlockBorders) {
  for (int64_t length : {1, 5, 63, 64, 65, 130})
    for (int64_t kv_heads : {4, 2}) check(every_option(length), length, kv_heads);
}

TEST(AttentionBackward, IsTheSlopeWithoutOptions) {
  AttentionArguments plain;
  plain.scale = 0.6;
  for (int64_t length : {1, 65, 130}) check(plain, length, 1);
}

TEST(AttentionBackward, IsTheSlopeInWindowsAndWithoutCausality) {
  AttentionArguments arguments;
  arguments.scale = 0.6;
  for (int64_t window : {0, 3, 100})
    for (bool causal : {true, false}) {
      arguments.pattern = test::band(causal, window);
      for (int64_t length : {5, 200}) check(arguments, length, 2);
    }
}

// A cross product of what differs: who is longer, from where, how far, and which segments.
TEST(AttentionBackward, IsTheSlopeOverAnotherSequence) {
  for (const auto& [queries, keys] : {std::pair{5, 9}, {9, 5}, {40, 130}, {130, 40}})
    for (bool causal : {true, false})
      for (int64_t window : {0, 3, 70})
        for (bool segmented : {false, true}) {
          SCOPED_TRACE(fmt::format("causal {}, window {}, segments {}", causal, window, segmented));
          AttentionArguments arguments = every_option(1);
          arguments.pattern = test::band(causal, window);
          arguments.pattern.first_query = segmented ? 2 : 0;
          if (segmented) {
            arguments.pattern.query_segments = test::runs_of(4, queries);
            arguments.pattern.key_segments = test::runs_of(7, keys);
          }
          check(arguments, queries, keys, 2);
        }
}

// Keys behind the last query, under causality; queries out of reach of the last key, in a window.
TEST(AttentionBackward, OfKeysThatNobodySeesAndQueriesFarAwayIsZero) {
  AttentionArguments arguments;
  const Tensors in = test::random_tensors({{1, 3, 1, 2}, {1, 9, 1, 2}, {1, 9, 1, 2}}, DType::f32);
  const Tensors found = gradients(arguments, in, test::random_tensor({1, 3, 1, 2}, 9, DType::f32));
  for (size_t i : {1, 2}) {
    EXPECT_EQ(test::values_of(found[i].flat(6, 12)), std::vector<double>(12, 0.0));
    EXPECT_NE(test::values_of(found[i].flat(0, 6)), std::vector<double>(6, 0.0));
  }
  arguments.pattern = test::band(false, 2);
  const Tensors far = test::random_tensors({{1, 9, 1, 2}, {1, 3, 1, 2}, {1, 3, 1, 2}}, DType::f32);
  EXPECT_EQ(test::values_of(run(arguments, far).out.flat(8, 10)), std::vector<double>(10, 0.0));
  const Tensor dq =
      gradients(arguments, far, test::random_tensor(far[0].shape(), 9, DType::f32))[0];
  EXPECT_EQ(test::values_of(dq.flat(8, 10)), std::vector<double>(10, 0.0));
}

TEST(AttentionBackward, OfQueriesThatSeeNothingIsZero) {
  AttentionArguments arguments;
  arguments.pattern.first_key = Tensor::from(std::vector<int32_t>{3}, {1});
  const Tensors in = test::random_tensors({{1, 5, 1, 2}, {1, 5, 1, 2}, {1, 5, 1, 2}}, DType::f32);
  const Tensor dy = test::random_tensor({1, 5, 1, 2}, 9, DType::f32);
  const Tensor hidden = Tensor::zeros({6}, DType::f32);
  EXPECT_EQ(test::values_of(run(arguments, in).out.flat(0, 6)), test::values_of(hidden));
  for (const Tensor& gradient : gradients(arguments, in, dy)) {
    EXPECT_EQ(test::values_of(gradient.flat(0, 6)), test::values_of(hidden));
    for (double value : test::values_of(gradient)) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(AttentionBackward, OfASampleDoesNotKnowItsBatch) {
  const int64_t length = 70;
  for (DType dtype : {DType::f32, DType::bf16}) {
    const Tensors in =
        test::random_tensors({{2, length, 4, 8}, {2, length, 2, 8}, {2, length, 2, 8}}, dtype);
    const Tensor dy = test::random_tensor({2, length, 4, 8}, 9, dtype);
    AttentionArguments arguments = every_option(length);
    const Tensors all = gradients(arguments, in, dy);
    for (int64_t sample : {0, 1}) {
      AttentionArguments own = arguments;
      for (Tensor* part : {&own.pattern.query_segments, &own.pattern.key_segments,
                           &own.pattern.first_key, &own.sample_ids})
        *part = part->rows(sample, sample + 1);
      const auto alone = [&](const Tensor& x) { return x.rows(sample, sample + 1); };
      const Tensors found = gradients(own, {alone(in[0]), alone(in[1]), alone(in[2])}, alone(dy));
      for (size_t i = 0; i < 3; ++i)
        EXPECT_EQ(bytes_of(found[i]), bytes_of(alone(all[i]))) << sample << " " << i;
    }
  }
}

constexpr int64_t kLength = 64;

// out [B,T,H,kLength] holds the weights themselves: alike before dropout since k is zero, apart
// since v is the unit matrix.
Tensor dropped_weights(const std::vector<int64_t>& samples, int64_t heads, uint64_t key,
                       int64_t first_head, int64_t length = kLength) {
  const int64_t batch = static_cast<int64_t>(samples.size());
  AttentionArguments arguments;
  arguments.dropout = 0.3;
  arguments.dropout_key = key;
  arguments.first_head = first_head;
  arguments.sample_ids = Tensor::from(samples, {batch});
  const Tensor v = Tensor::zeros({batch, length, 1, kLength}, DType::f32);
  for (int64_t i = 0; i < batch * length; ++i) v.data<float>()[i * kLength + i % length] = 1;
  const Tensor q = test::random_tensor({batch, length, heads, kLength}, 1, DType::f32);
  return run(arguments, {q, Tensor::zeros(v.shape(), DType::f32), v}).out;
}

// Head `head` of sample `sample`, [T,T].
std::vector<float> head_of(const Tensor& weights, int64_t sample, int64_t head) {
  std::vector<float> made;
  for (int64_t t = 0; t < kLength; ++t) {
    const float* row =
        weights.data<float>() + ((sample * kLength + t) * weights.dim(2) + head) * kLength;
    made.insert(made.end(), row, row + kLength);
  }
  return made;
}

TEST(AttentionDropout, DropsItsShareAndScalesTheRest) {
  const Tensor weights = dropped_weights({4, 7}, 3, 5, 0);
  double kept = 0, all = 0;
  for (int64_t i = 0; i < weights.size(); ++i) {
    const int64_t key = i % kLength, query = i / kLength / 3 % kLength;
    const double share = weights.data<float>()[i] * static_cast<double>(query + 1) * 0.7;
    if (key > query) {
      ASSERT_EQ(share, 0) << i;
      continue;
    }
    ASSERT_TRUE(share == 0 || std::abs(share - 1) < 1e-5) << i << " " << share;
    kept += share > 0;
    all += 1;
  }
  EXPECT_NEAR(kept / all, 0.7, 0.03);
}

TEST(AttentionDropout, HangsOnSampleAndGlobalHeadOnly) {
  const Tensor whole = dropped_weights({4, 7}, 3, 5, 0), swapped = dropped_weights({7, 4}, 3, 5, 0);
  const Tensor alone = dropped_weights({7}, 3, 5, 0), upper = dropped_weights({4, 7}, 2, 5, 1);
  for (int64_t head = 0; head < 3; ++head) {
    EXPECT_EQ(head_of(swapped, 0, head), head_of(whole, 1, head));
    EXPECT_EQ(head_of(alone, 0, head), head_of(whole, 1, head));
  }
  for (int64_t head = 1; head < 3; ++head)
    EXPECT_EQ(head_of(upper, 1, head - 1), head_of(whole, 1, head));
}

TEST(AttentionDropout, DoesNotKnowHowLongRowsArePadded) {
  constexpr int64_t kShort = 40, kHeads = 2;
  const Tensor whole = dropped_weights({7}, kHeads, 5, 1),
               part = dropped_weights({7}, kHeads, 5, 1, kShort);
  EXPECT_EQ(bytes_of(part), bytes_of(whole.flat(0, kShort * kHeads * kLength)));
}

TEST(AttentionDropout, DiffersBetweenSamplesHeadsAndKeys) {
  const Tensor weights = dropped_weights({4, 7}, 2, 5, 0);
  EXPECT_NE(head_of(weights, 0, 0), head_of(weights, 1, 0));
  EXPECT_NE(head_of(weights, 0, 0), head_of(weights, 0, 1));
  EXPECT_NE(head_of(weights, 0, 0), head_of(dropped_weights({4, 7}, 2, 6, 0), 0, 0));
}

}  // namespace
}  // namespace skein
