// Attention and what turns its queries on CUDA, against the CPU's on the same numbers.
#include "skein/kernels/attention.h"

#include "skein/kernels/rotary.h"

#include "cuda/on_devices.h"
#include "support/drawn_attention.h"
#include "support/kernel_check.h"

namespace skein {
namespace {

using test::OnCuda;
using test::random_tensor;
using test::Tensors;
using test::zeros_like;

struct AttentionCase {
  int64_t batch, queries, keys, heads, groups, width;
  bool causal;
  int64_t window;
  bool segments;
  double dropout;
  int64_t first_query = 0;
};

// [batch, length] i32: segments of 13 positions each.
Tensor segments_of(int64_t batch, int64_t length) {
  const Tensor made = Tensor::empty({batch, length}, DType::i32);
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<int32_t>()[i] = static_cast<int32_t>(i % length / 13);
  return made;
}

kernels::AttentionArguments arguments_of(const AttentionCase& c) {
  kernels::AttentionArguments made;
  made.scale = 1 / std::sqrt(static_cast<double>(c.width));
  made.pattern = test::band(c.causal, c.window);
  made.pattern.first_query = c.first_query;
  made.dropout = c.dropout;
  made.dropout_key = 9;
  made.sample_ids = Tensor::from(std::vector<int64_t>{3, 8}, {2});
  made.first_head = 3;
  if (!c.segments) return made;
  made.pattern.query_segments = segments_of(c.batch, c.queries);
  made.pattern.key_segments = segments_of(c.batch, c.keys);
  return made;
}

void compare_attention(const AttentionCase& c, DType dtype, double tolerance) {
  SCOPED_TRACE(fmt::format("{} queries from {}, {} keys, width {}, causal {}, window {}", c.queries,
                           c.first_query, c.keys, c.width, c.causal, c.window));
  const kernels::AttentionArguments arguments = arguments_of(c);
  const Tensor q = random_tensor({c.batch, c.queries, c.heads, c.width}, 1, dtype),
               k = random_tensor({c.batch, c.keys, c.groups, c.width}, 2, dtype),
               v = random_tensor(k.shape(), 3, dtype), dout = random_tensor(q.shape(), 4, dtype);
  const Tensor sums = Tensor::zeros({c.batch, c.heads, c.queries}, DType::f32);
  EXPECT_EQUAL_ON_DEVICES(
      (Tensors{zeros_like(q), sums}), 2 * tolerance,
      kernels::attention(device, at(q), at(k), at(v), at(arguments), Out(out[0]), Out(out[1])));
  const Tensor out_cpu = zeros_like(q), level = sums.clone();
  kernels::attention(Cpu{}, q, k, v, arguments, Out(out_cpu), Out(level));
  EXPECT_EQUAL_ON_DEVICES((Tensors{zeros_like(q), zeros_like(k), zeros_like(v)}), 4 * tolerance,
                          kernels::attention_backward(
                              device, {at(q), at(k), at(v), at(out_cpu), at(level)}, at(arguments),
                              {at(dout)}, {Out(out[0]), Out(out[1]), Out(out[2])}));
}

TEST_P(OnCuda, Attention) {
  for (const AttentionCase& c : {AttentionCase{1, 1, 1, 1, 1, 8, true, 0, false, 0},
                                 {2, 70, 70, 2, 1, 16, true, 0, false, 0},
                                 {1, 65, 65, 2, 2, 64, false, 0, false, 0},
                                 {1, 100, 100, 2, 1, 20, true, 17, false, 0},
                                 {1, 50, 50, 1, 1, 16, false, 9, false, 0},
                                 {2, 40, 40, 2, 2, 16, true, 0, true, 0.2},
                                 {1, 200, 200, 4, 2, 128, true, 70, false, 0},
                                 {1, 150, 150, 2, 1, 96, true, 0, false, 0.1},
                                 {1, 140, 140, 1, 1, 72, false, 30, false, 0},
                                 {1, 192, 192, 1, 1, 40, false, 0, false, 0},
                                 {1, 130, 130, 2, 2, 136, true, 0, false, 0}})
    compare_attention(c, dtype(), tolerance());
}

TEST_P(OnCuda, AttentionShowsKeysThatAreNotNumbers) {
  for (int64_t width : {16, 20}) {
    const test::There at;
    const Tensor q = random_tensor({1, 3, 1, width}, 1, dtype()),
                 k = Tensor::from(std::vector(static_cast<size_t>(40 * width), std::nan("")),
                                  {1, 40, 1, width})
                         .to(dtype()),
                 v = random_tensor(k.shape(), 3, dtype()), out = at(zeros_like(q)),
                 level = at(Tensor::zeros({1, 1, 3}, DType::f32));
    kernels::AttentionArguments arguments;
    arguments.pattern = test::band(false, 0);
    kernels::attention(Cuda{}, at(q), at(k), at(v), arguments, Out(out), Out(level));
    for (double one : test::values_of(out.to(Device{}))) EXPECT_TRUE(std::isnan(one)) << width;
  }
}

// Of the widths, 20 is no tile's; of the keys, some are seen by nobody.
TEST_P(OnCuda, AttentionOverAnotherSequence) {
  for (const AttentionCase& c : {AttentionCase{2, 40, 150, 2, 1, 16, false, 0, false, 0},
                                 {2, 150, 40, 2, 1, 16, false, 0, false, 0.1},
                                 {2, 70, 130, 2, 2, 32, false, 0, true, 0},
                                 {2, 130, 70, 2, 2, 20, false, 0, true, 0},
                                 {1, 30, 200, 2, 1, 16, true, 0, false, 0},
                                 {1, 30, 200, 1, 1, 20, true, 0, false, 0},
                                 {1, 200, 30, 2, 1, 16, true, 0, false, 0},
                                 {1, 40, 200, 1, 1, 16, true, 33, false, 0, 90},
                                 {1, 40, 200, 1, 1, 20, true, 0, true, 0, 90},
                                 {1, 70, 200, 2, 1, 72, false, 25, false, 0, 80},
                                 {1, 70, 200, 1, 1, 20, false, 25, false, 0, 80},
                                 {1, 200, 70, 1, 1, 16, false, 25, false, 0}})
    compare_attention(c, dtype(), tolerance());
}

// Of rows whose level is a real number: -inf has no gradient.
TEST_P(OnCuda, AttentionOverPatterns) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const test::DrawnAttention d = test::drawn_attention(seed);
    const test::AttentionSizes& s = d.sizes;
    const Tensor q = d.in[0].to(dtype()), k = d.in[1].to(dtype()), v = d.in[2].to(dtype()),
                 dout = random_tensor(q.shape(), seed + 9, dtype()),
                 level = Tensor::zeros({s.samples, s.heads, s.queries}, DType::f32),
                 dlevel = random_tensor(level.shape(), seed + 10, DType::f32), made = zeros_like(q);
    kernels::AttentionArguments arguments = d.arguments;
    if (arguments.bias.defined()) arguments.bias = arguments.bias.to(DType::f32);
    if (seed % 2) {
      arguments.dropout = 0.3;
      arguments.dropout_key = 5;
      arguments.sample_ids = Tensor::from(std::vector<int64_t>{4, 1}, {2}).rows(0, s.samples);
    }
    EXPECT_EQUAL_ON_DEVICES(
        (Tensors{made, level}), tolerance(),
        kernels::attention(device, at(q), at(k), at(v), at(arguments), Out(out[0]), Out(out[1])));
    kernels::attention(Cpu{}, q, k, v, arguments, Out(made), Out(level));
    Tensors slopes{zeros_like(q), zeros_like(k), zeros_like(v)};
    if (arguments.bias.defined()) slopes.push_back(zeros_like(arguments.bias));
    EXPECT_EQUAL_ON_DEVICES(
        slopes, 3 * tolerance(),
        kernels::attention_backward(
            device, {at(q), at(k), at(v), at(made), at(level)}, at(arguments),
            {at(dout), at(dlevel)},
            {Out(out[0]), Out(out[1]), Out(out[2]), out.size() > 3 ? Out(out[3]) : Out()}));
  }
}

TEST_P(OnCuda, AttentionToACache) {
  kernels::AttentionArguments arguments;
  arguments.scale = 0.25;
  arguments.pattern.first_query = 40;
  arguments.pattern.first_key = Tensor::from(std::vector<int32_t>{0, 33}, {2});
  const Tensor q = random_tensor({2, 3, 4, 16}, 1, dtype()),
               k = random_tensor({2, 50, 2, 16}, 2, dtype()),
               v = random_tensor({2, 50, 2, 16}, 3, dtype());
  for (const Tensor& cached : {k, v})
    for (int64_t sample : {0, 1}) {
      const Tensor unused = cached.reshape({100, 32}).rows(sample * 50 + 43, sample * 50 + 50);
      std::memset(unused.bytes_data(), 0xff, static_cast<size_t>(unused.bytes()));
    }
  EXPECT_EQUAL_ON_DEVICES(
      (Tensors{zeros_like(q), Tensor::zeros({2, 4, 3}, DType::f32)}), 2 * tolerance(),
      kernels::attention(device, at(q), at(k), at(v), at(arguments), Out(out[0]), Out(out[1])));
}

TEST_P(OnCuda, Rotary) {
  const Tensor x = random_tensor({2, 5, 3, 16}, 1, dtype());
  const Tensor positions =
      Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4, 9, 100, 1000, 5000, 7}, {2, 5});
  for (const auto scaling :
       {kernels::RopeScaling::none, kernels::RopeScaling::linear, kernels::RopeScaling::llama3,
        kernels::RopeScaling::yarn, kernels::RopeScaling::longrope})
    for (bool inverse : {false, true})
      for (int64_t width : {0, 6}) {
        kernels::RotaryWaves waves{1e4, scaling, 8, 1, 4, 512};
        waves.width = width;
        waves.amplitude = width ? 1.25 : 1;
        waves.factors = {1, 1.5, 2, 3, 4, 6, 8, 16};
        EXPECT_EQUAL_ON_DEVICES(
            Tensors{zeros_like(x)}, tolerance(),
            kernels::rotary(device, at(x), at(positions), waves, inverse, Out(out[0])));
      }
}

}  // namespace
}  // namespace skein
