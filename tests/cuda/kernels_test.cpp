// Every CUDA kernel against the CPU's on the same numbers.
#include <functional>

#include "skein/kernels/adamw.h"
#include "skein/kernels/attention.h"
#include "skein/kernels/embedding.h"
#include "skein/kernels/loss.h"
#include "skein/kernels/norm.h"
#include "skein/kernels/policy.h"
#include "skein/kernels/reduce.h"
#include "skein/kernels/rotary.h"

#include "support/kernel_check.h"
#include "support/kernel_home.h"

namespace skein {
namespace {

using test::kHome;
using test::random_tensor;
using Tensors = std::vector<Tensor>;

Tensor like(const Tensor& x) { return Tensor::zeros(x.shape(), x.dtype()); }

struct Here {
  const Tensor& operator()(const Tensor& x) const { return x; }
  template <class Arguments>
  const Arguments& operator()(const Arguments& x) const {
    return x;
  }
};

// Copies of tensors where the kernels want them.
struct There {
  Tensor operator()(const Tensor& x) const { return x.defined() ? x.to(kHome) : x; }
  kernels::AttentionArguments operator()(kernels::AttentionArguments x) const {
    x.mask.query_segments = (*this)(x.mask.query_segments);
    x.mask.key_segments = (*this)(x.mask.key_segments);
    x.mask.first_key = (*this)(x.mask.first_key);
    x.sample_ids = (*this)(x.sample_ids);
    return x;
  }
  kernels::AdamWArguments operator()(kernels::AdamWArguments x) const {
    x.square_sum = (*this)(x.square_sum);
    return x;
  }
  kernels::DropoutMask operator()(kernels::DropoutMask x) const {
    x.sample_ids = (*this)(x.sample_ids);
    return x;
  }
};

// work(device, at, results) fills `results`, of which each side gets a copy.
void expect_equal(const Tensors& results, double tolerance,
                  const std::function<void(Cpu, const Here&, const Tensors&)>& on_cpu,
                  const std::function<void(Cuda, const There&, const Tensors&)>& on_cuda) {
  Tensors wanted, found;
  for (const Tensor& result : results) {
    wanted.push_back(result.clone());
    found.push_back(There()(result.clone()));
  }
  on_cpu(Cpu{}, Here(), wanted);
  on_cuda(Cuda{}, There(), found);
  for (Tensor& result : found) result = result.to(Device{});
  for (size_t r = 0; r < results.size(); ++r) {
    const auto left = test::values_of(wanted[r]), right = test::values_of(found[r]);
    for (size_t i = 0; i < left.size(); ++i) {
      if (std::isinf(left[i]))
        ASSERT_EQ(left[i], right[i]) << "result " << r << " element " << i;
      else
        ASSERT_NEAR(left[i], right[i], tolerance * (1 + std::abs(left[i])))
            << "result " << r << " element " << i;
    }
  }
}

#define EXPECT_EQUAL_ON_DEVICES(results, tolerance, ...)                                         \
  expect_equal(                                                                                  \
      results, tolerance, [&](auto device, const auto& at, const Tensors& out) { __VA_ARGS__; }, \
      [&](auto device, const auto& at, const Tensors& out) { __VA_ARGS__; })

class OnCuda : public testing::TestWithParam<DType> {
 protected:
  DType dtype() const { return GetParam(); }
  // A result may round the other way.
  double tolerance() const {
    return dtype() == DType::bf16 ? 1e-2 : dtype() == DType::f16 ? 1.5e-3 : 1e-5;
  }
};

TEST_P(OnCuda, Elementwise) {
  for (int64_t count : {1, 7, 1000, 4096}) {
    const Tensor x = random_tensor({count}, 1, dtype()), y = random_tensor({count}, 2, dtype()),
                 z = random_tensor({count}, 3, dtype());
    EXPECT_EQUAL_ON_DEVICES(Tensors{like(x)}, tolerance(),
                            kernels::add(device, at(x), at(y), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(Tensors{like(x)}, tolerance(),
                            kernels::scale(device, at(x), 0.3, Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(Tensors{random_tensor({count}, 4, DType::f32)}, 1e-5,
                            kernels::accumulate(device, at(x), Out(out[0])));
    for (auto kind : {kernels::Activation::gelu_tanh, kernels::Activation::gelu_erf,
                      kernels::Activation::relu, kernels::Activation::tanh}) {
      EXPECT_EQUAL_ON_DEVICES(Tensors{like(x)}, tolerance(),
                              kernels::activation(device, kind, at(x), Out(out[0])));
      EXPECT_EQUAL_ON_DEVICES(
          Tensors{like(x)}, tolerance(),
          kernels::activation_backward(device, kind, at(x), at(y), Out(out[0])));
    }
    EXPECT_EQUAL_ON_DEVICES(Tensors{like(x)}, tolerance(),
                            kernels::swiglu(device, at(x), at(y), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(
        (Tensors{like(x), like(x)}), tolerance(),
        kernels::swiglu_backward(device, at(x), at(y), at(z), Out(out[0]), Out(out[1])));
  }
}

TEST_P(OnCuda, ElementsThatBeginAnywhere) {
  const Tensor x = random_tensor({100}, 1, dtype()).flat(3, 90),
               y = random_tensor({100}, 2, dtype()).flat(5, 90);
  EXPECT_EQUAL_ON_DEVICES(Tensors{like(x)}, tolerance(),
                          kernels::add(device, at(x), at(y), Out(out[0])));
}

TEST_P(OnCuda, Bias) {
  for (int64_t columns : {1, 33, 256}) {
    const Tensor x = random_tensor({137, columns}, 1, dtype()),
                 bias = random_tensor({columns}, 2, dtype());
    EXPECT_EQUAL_ON_DEVICES(Tensors{like(x)}, tolerance(),
                            kernels::add_bias(device, at(x), at(bias), Out(out[0])));
    const Tensor sums = x.to(gradient_dtype(dtype()));
    EXPECT_EQUAL_ON_DEVICES(Tensors{like(sums)}, tolerance(),
                            kernels::add_bias(device, at(sums), at(bias), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(Tensors{random_tensor({columns}, 3, DType::f32)}, 1e-5,
                            kernels::bias_backward(device, at(x), Out(out[0])));
    const Tensor dy = random_tensor({137, columns}, 4, dtype());
    EXPECT_EQUAL_ON_DEVICES((Tensors{like(x), random_tensor({columns}, 3, DType::f32)}),
                            dtype() == DType::f32 ? 1e-5 : 3e-2,
                            kernels::activation_backward(device, kernels::Activation::gelu_tanh,
                                                         at(x), at(dy), Out(out[0]), Out(out[1])));
  }
}

TEST_P(OnCuda, DropoutDrawsTheSameMask) {
  const Tensor x = random_tensor({2, 10, 33}, 1, dtype());
  const kernels::DropoutMask mask{0.3, 77, Tensor::from(std::vector<int64_t>{5, 1ll << 40}, {2}),
                                  7};
  EXPECT_EQUAL_ON_DEVICES(Tensors{like(x)}, tolerance(),
                          kernels::dropout(device, at(x), at(mask), Out(out[0])));
}

TEST_P(OnCuda, Norms) {
  for (auto kind : {kernels::Norm::layer, kernels::Norm::rms})
    for (int64_t columns : {8, 100, 768}) {
      const int64_t rows = 75;
      const Tensor x = random_tensor({rows, columns}, 1, dtype()),
                   branch = random_tensor({rows, columns}, 2, dtype()),
                   gain = random_tensor({columns}, 3, dtype()),
                   bias = random_tensor({columns}, 4, dtype()),
                   dy = random_tensor({rows, columns}, 5, dtype());
      const Tensor stats = Tensor::zeros({rows}, DType::f32),
                   sums = random_tensor({columns}, 6, DType::f32);
      EXPECT_EQUAL_ON_DEVICES((Tensors{like(x), stats, stats}), tolerance(),
                              kernels::norm(device, at(x), {kind, at(gain), at(bias), 1e-5},
                                            Out(out[0]), Out(out[1]), Out(out[2])));
      EXPECT_EQUAL_ON_DEVICES((Tensors{like(x), stats, stats, like(x)}), tolerance(),
                              kernels::norm(device, at(x), {kind, at(gain), {}, 1e-5, at(branch)},
                                            Out(out[0]), Out(out[1]), Out(out[2]), Out(out[3])));
      const Tensor mean = stats.clone(), rstd = stats.clone();
      kernels::norm(Cpu{}, x, {kind, gain, bias, 1e-5}, Out(like(x)), Out(mean), Out(rstd));
      EXPECT_EQUAL_ON_DEVICES(
          (Tensors{like(x), sums, sums}), tolerance(),
          kernels::norm_backward(device, {kind, at(x), at(gain), at(mean), at(rstd)}, at(dy),
                                 at(branch), Out(out[0]), Out(out[1]), Out(out[2])));
      EXPECT_EQUAL_ON_DEVICES(
          (Tensors{like(x), sums}), tolerance(),
          kernels::norm_backward(device, {kind, at(x), at(gain), at(mean), at(rstd)}, at(dy), {},
                                 Out(out[0]), Out(out[1]), Out()));
      EXPECT_EQUAL_ON_DEVICES(
          (Tensors{like(x), sums}), tolerance(),
          kernels::norm_backward(device, {kind, at(x), at(gain), at(mean), at(rstd)}, at(dy), {},
                                 Out(out[0]), Out(), Out(out[1])));
      EXPECT_EQUAL_ON_DEVICES(
          Tensors{like(x)}, tolerance(),
          kernels::norm_backward(device, {kind, at(x), at(gain), at(mean), at(rstd)}, at(dy), {},
                                 Out(out[0]), Out(), Out()));
    }
}

TEST_P(OnCuda, Embeddings) {
  const Tensor table = random_tensor({20, 36}, 1, dtype()),
               dy = random_tensor({300, 36}, 2, dtype());
  std::vector<int32_t> numbers(300);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i * i * 7 % 31);
  const Tensor ids = Tensor::from(numbers, {300});
  EXPECT_EQUAL_ON_DEVICES(Tensors{like(dy)}, 0,
                          kernels::embedding(device, at(table), at(ids), 5, Out(out[0])));
  EXPECT_EQUAL_ON_DEVICES(Tensors{random_tensor({20, 36}, 3, DType::f32)}, 0,
                          kernels::embedding_backward(device, at(dy), at(ids), 5, Out(out[0])));
  EXPECT_EQUAL_ON_DEVICES(Tensors{like(dy)}, tolerance(),
                          kernels::sinusoid(device, at(ids), Out(out[0])));
}

TEST_P(OnCuda, SquaredErrors) {
  for (int64_t rows : {1, 9, 300}) {
    const Tensor x = random_tensor({rows}, 1, dtype()),
                 values = random_tensor({rows}, 2, DType::f32),
                 scales = random_tensor({rows}, 3, DType::f32);
    EXPECT_EQUAL_ON_DEVICES(Tensors{Tensor::zeros({rows}, DType::f32)}, 1e-6,
                            kernels::squared_errors(device, at(x), at(values), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(
        Tensors{like(x)}, tolerance(),
        kernels::squared_errors_backward(device, at(x), at(values), at(scales), Out(out[0])));
  }
}

// Known numbers of tokens: every side of every clip, and log-ratios beyond what counts.
Tensor known_tokens(int64_t rows, const Tensor& losses) {
  const Tensor made = random_tensor({rows, kernels::known::columns}, 21, DType::f32);
  for (int64_t i = 0; i < rows; ++i) {
    float* row = made.data<float>() + i * kernels::known::columns;
    const float step =
        i % 5 ? row[kernels::known::old_logp] : static_cast<float>(7 * (i % 11) - 35);
    row[kernels::known::old_logp] = -losses.data<float>()[i] - step;
    row[kernels::known::ref_logp] -= losses.data<float>()[i];
  }
  return made;
}

kernels::PolicyOuts marked(const Tensors& out) {
  const bool all = out.size() > 5;
  return {Out(out[0]),
          Out(out[1]),
          Out(out[2]),
          Out(out[3]),
          Out(out[4]),
          all ? Out(out[5]) : Out(),
          all ? Out(out[6]) : Out()};
}

TEST(PolicyOnCuda, TokensCostTheSame) {
  for (int64_t rows : {1, 9, 700}) {
    const Tensor losses = random_tensor({rows}, 1, DType::f32), row = like(losses),
                 scales = Tensor::zeros({rows}, DType::f32),
                 entropies = random_tensor({rows}, 3, DType::f32),
                 known = known_tokens(rows, losses);
    for (int64_t i = 0; i < rows; ++i) scales.data<float>()[i] = i % 4 ? 0.25f : 0;
    for (const kernels::PolicyTerms& terms :
         {kernels::PolicyTerms{0.25}, kernels::PolicyTerms{0.25, 0.3, 0.4, 1.5, 0.2, 0, 0.1},
          kernels::PolicyTerms{0.25, 0.2, 0.2, 0, 0, 0.3, 0.1}})
      EXPECT_EQUAL_ON_DEVICES((Tensors{row, row, row, row, row, row, row}), 1e-6,
                              kernels::policy_losses(device, terms, at(losses), at(scales),
                                                     at(known), at(entropies), marked(out)));
    EXPECT_EQUAL_ON_DEVICES(
        (Tensors{row, row, row, row, row}), 1e-6,
        kernels::policy_losses(device, {0.25}, at(losses), at(scales), at(known), {}, marked(out)));
  }
}

TEST_P(OnCuda, ValuesCostTheSame) {
  for (int64_t rows : {1, 9, 700}) {
    const Tensor x = random_tensor({rows}, 1, dtype()), row = Tensor::zeros({rows}, DType::f32),
                 scales = random_tensor({rows}, 2, DType::f32),
                 known = random_tensor({rows, kernels::known::columns}, 3, DType::f32);
    for (const kernels::ValueTerms& terms :
         {kernels::ValueTerms{}, kernels::ValueTerms{0.5, 0.3, 0.1, 0.8}}) {
      EXPECT_EQUAL_ON_DEVICES(
          (Tensors{row, row}), 1e-6,
          kernels::value_losses(device, terms, at(x), at(known), Out(out[0]), Out(out[1])));
      EXPECT_EQUAL_ON_DEVICES(
          Tensors{like(x)}, tolerance(),
          kernels::value_losses_backward(device, terms, at(x), at(known), at(scales), Out(out[0])));
    }
  }
}

TEST_P(OnCuda, CrossEntropy) {
  for (const auto& [columns, valid] : {std::pair{700, 690}, {704, 704}, {701, 699}}) {
    const int64_t rows = 9;
    const Tensor logits = random_tensor({rows, columns}, 1, dtype()),
                 scales = random_tensor({rows}, 2, DType::f32),
                 row = Tensor::zeros({rows}, DType::f32);
    const Tensor targets =
        Tensor::from(std::vector<int32_t>{3, 99, 100, 101, 500, 789, 790, 795, 2000}, {rows});
    EXPECT_EQUAL_ON_DEVICES(Tensors{row}, 0,
                            kernels::row_maximum(device, at(logits), valid, Out(out[0])));
    const Tensor own_targets =
        Tensor::from(std::vector<int32_t>{3, 99, 100, 101, 500, 0, 698, 1, 2}, {rows});
    EXPECT_EQUAL_ON_DEVICES((Tensors{row, row, row}), 1e-5,
                            kernels::row_statistics(device, at(logits), valid, at(own_targets),
                                                    Out(out[0]), Out(out[1]), Out(out[2])));
    const Tensor maximum = row.clone(), sums = row.clone(), picked = row.clone();
    kernels::row_maximum(Cpu{}, logits, valid, Out(maximum));
    EXPECT_EQUAL_ON_DEVICES((Tensors{row, row}), 1e-5,
                            kernels::row_sum_exp(device, at(logits), {100, valid}, at(maximum),
                                                 at(targets), Out(out[0]), Out(out[1])));
    kernels::row_sum_exp(Cpu{}, logits, {100, valid}, maximum, targets, Out(sums), Out(picked));
    EXPECT_EQUAL_ON_DEVICES(
        Tensors{like(logits)}, tolerance(),
        kernels::cross_entropy_backward(
            device, {at(logits), {100, valid}, at(targets), at(maximum), at(sums)}, at(scales),
            Out(out[0])));
    const Tensor entropies = random_tensor({rows}, 4, DType::f32),
                 entropy_scales = random_tensor({rows}, 5, DType::f32);
    EXPECT_EQUAL_ON_DEVICES(
        Tensors{row}, 1e-5,
        kernels::row_exp_moment(device, at(logits), valid, at(maximum), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(Tensors{row}, 1e-6,
                            kernels::row_entropies(device, at(sums), at(entropies), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(
        Tensors{like(logits)}, tolerance(),
        kernels::entropic_backward(device,
                                   {at(logits), {100, valid}, at(targets), at(maximum), at(sums)},
                                   at(scales), at(entropies), at(entropy_scales), Out(out[0])));
    if (dtype() == DType::f32)
      EXPECT_EQUAL_ON_DEVICES(
          Tensors{Tensor::zeros(logits.shape(), DType::bf16)}, 1e-2,
          kernels::cross_entropy_backward(
              device, {at(logits), {100, valid}, at(targets), at(maximum), at(sums)}, at(scales),
              Out(out[0])));
  }
}

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
  made.mask = {c.causal, c.window};
  made.mask.first_query = c.first_query;
  made.dropout = c.dropout;
  made.dropout_key = 9;
  made.sample_ids = Tensor::from(std::vector<int64_t>{3, 8}, {2});
  made.first_head = 3;
  if (!c.segments) return made;
  made.mask.query_segments = segments_of(c.batch, c.queries);
  made.mask.key_segments = segments_of(c.batch, c.keys);
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
      (Tensors{like(q), sums}), 2 * tolerance,
      kernels::attention(device, at(q), at(k), at(v), at(arguments), Out(out[0]), Out(out[1])));
  const Tensor out_cpu = like(q), logsumexp = sums.clone();
  kernels::attention(Cpu{}, q, k, v, arguments, Out(out_cpu), Out(logsumexp));
  EXPECT_EQUAL_ON_DEVICES(
      (Tensors{like(q), like(k), like(v)}), 4 * tolerance,
      kernels::attention_backward(device, {at(q), at(k), at(v), at(out_cpu), at(logsumexp)},
                                  at(arguments), at(dout), Out(out[0]), Out(out[1]), Out(out[2])));
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

TEST_P(OnCuda, AttentionToACache) {
  kernels::AttentionArguments arguments;
  arguments.scale = 0.25;
  arguments.mask.first_query = 40;
  arguments.mask.first_key = Tensor::from(std::vector<int32_t>{0, 33}, {2});
  const Tensor q = random_tensor({2, 3, 4, 16}, 1, dtype()),
               k = random_tensor({2, 50, 2, 16}, 2, dtype()),
               v = random_tensor({2, 50, 2, 16}, 3, dtype());
  for (const Tensor& cached : {k, v})
    for (int64_t sample : {0, 1}) {
      const Tensor unused = cached.reshape({100, 32}).rows(sample * 50 + 43, sample * 50 + 50);
      std::memset(unused.bytes_data(), 0xff, static_cast<size_t>(unused.bytes()));
    }
  EXPECT_EQUAL_ON_DEVICES(
      (Tensors{like(q), Tensor::zeros({2, 4, 3}, DType::f32)}), 2 * tolerance(),
      kernels::attention(device, at(q), at(k), at(v), at(arguments), Out(out[0]), Out(out[1])));
}

TEST_P(OnCuda, Rotary) {
  const Tensor x = random_tensor({2, 5, 3, 16}, 1, dtype());
  const Tensor positions =
      Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4, 9, 100, 1000, 5000, 7}, {2, 5});
  for (const auto scaling :
       {kernels::RopeScaling::none, kernels::RopeScaling::linear, kernels::RopeScaling::llama3})
    for (bool inverse : {false, true}) {
      const kernels::RotaryWaves waves{1e4, scaling, 8, 1, 4, 512};
      EXPECT_EQUAL_ON_DEVICES(
          Tensors{like(x)}, tolerance(),
          kernels::rotary(device, at(x), at(positions), waves, inverse, Out(out[0])));
    }
}

TEST_P(OnCuda, AdamW) {
  for (int64_t count : {1, 30, 1000}) {
    const Tensor gradient = random_tensor({count}, 1, DType::f32),
                 master = random_tensor({count}, 2, DType::f32),
                 m = random_tensor({count}, 3, DType::f32);
    const Tensor v = Tensor::from(std::vector<float>(static_cast<size_t>(count), 0.25f), {count});
    EXPECT_EQUAL_ON_DEVICES(
        (Tensors{master, m, v, Tensor::zeros({count}, dtype())}), 1e-2,
        kernels::adamw(device, {1e-2, 0.9, 0.95, 1e-8, 0.1, 0.5, 3}, at(gradient), Out(out[0]),
                       Out(out[1]), Out(out[2]), Out(out[3])));
    EXPECT_EQUAL_ON_DEVICES(
        (Tensors{master, m, v}), 1e-6,
        kernels::adamw(device, {1e-2, 0.9, 0.95, 1e-8, 0.1, 0.5, 3}, at(gradient), Out(out[0]),
                       Out(out[1]), Out(out[2]), Out()));
  }
}

TEST_P(OnCuda, AdamWClipsByANormOnTheDevice) {
  const Tensor gradient = random_tensor({1000}, 1, DType::f32),
               master = random_tensor({1000}, 2, DType::f32),
               m = random_tensor({1000}, 3, DType::f32);
  const Tensor v = Tensor::from(std::vector<float>(1000, 0.25f), {1000});
  for (double square_sum : {4.0, 400.0, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()}) {
    const kernels::AdamWArguments arguments{
        1e-2, 0.9, 0.95, 1e-8, 0.1, 0.5, 3, Tensor::from(std::vector<double>{square_sum}, {1}),
        2.0};
    EXPECT_EQUAL_ON_DEVICES((Tensors{master, m, v}), 1e-6,
                            kernels::adamw(device, at(arguments), at(gradient), Out(out[0]),
                                           Out(out[1]), Out(out[2]), Out()));
    if (std::isfinite(square_sum)) continue;
    const There at;
    const Tensor untouched = at(master.clone());
    kernels::adamw(Cuda{}, at(arguments), at(gradient), Out(untouched), Out(at(m.clone())),
                   Out(at(v.clone())), Out());
    EXPECT_EQ(test::values_of(untouched.to(Device{})), test::values_of(master));
  }
}

TEST_P(OnCuda, StochasticRounding) {
  const Tensor x = random_tensor({1003}, 1, DType::f32);
  for (int64_t first : {0, 5})
    EXPECT_EQUAL_ON_DEVICES(
        (Tensors{Tensor::zeros({1003}, DType::bf16)}), 0,
        kernels::stochastic_round(device, {5, 7, first, {}}, at(x), Out(out[0])));
}

TEST_P(OnCuda, ReductionsAndMoves) {
  const Tensor x = random_tensor({5000}, 1, dtype());
  EXPECT_EQUAL_ON_DEVICES(Tensors{Tensor::zeros({5}, DType::f64)}, 1e-12,
                          kernels::chunk_square_sums(device, at(x), 1024, Out(out[0])));
  std::vector<double> numbers;
  for (int i = 0; i < 2000; ++i) numbers.push_back(1.0 / (i + 1));
  const Tensor values = Tensor::from(numbers, {2000}),
               ranges = Tensor::from(std::vector<int64_t>{0, 1000, 5, 5, 1000, 2000}, {3, 2});
  EXPECT_EQUAL_ON_DEVICES((Tensors{Tensor::zeros({3}, DType::f64)}), 1e-12,
                          kernels::range_sums(device, at(values), at(ranges), Out(out[0])));
  const Tensor order = Tensor::from(std::vector<int64_t>{1999, 3, 7}, {3});
  EXPECT_EQUAL_ON_DEVICES((Tensors{Tensor::zeros({1}, DType::f64)}), 1e-12,
                          kernels::ordered_sum(device, at(values), at(order), Out(out[0])));
  for (int64_t last : {1, 3, 8, 64}) {
    const Tensor y = random_tensor({3, 5, last}, 2, dtype());
    EXPECT_EQUAL_ON_DEVICES((Tensors{Tensor::zeros({5, 3, last}, dtype())}), 0,
                            kernels::swap_leading(device, at(y), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES((Tensors{random_tensor({3, 7, last}, 3, dtype())}), 0,
                            kernels::copy_positions(device, at(y), 1, 3, 2, Out(out[0])));
    const Tensor kept = Tensor::from(
                     std::vector<int32_t>{0, 0, 0, -1, -1, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1},
                     {3, 5}),
                 dy = random_tensor({3, last}, 4, dtype());
    EXPECT_EQUAL_ON_DEVICES((Tensors{Tensor::zeros({3, last}, dtype())}), 0,
                            kernels::sample_means(device, at(y), at(kept), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES((Tensors{Tensor::zeros({3, 5, last}, dtype())}), 0,
                            kernels::sample_means_backward(device, at(dy), at(kept), Out(out[0])));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, OnCuda, testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace skein
