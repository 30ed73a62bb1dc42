// Every CUDA kernel against the CPU's on the same numbers.

#include "skein/kernels/distance_bias.h"
#include "skein/kernels/embedding.h"
#include "skein/kernels/loss.h"
#include "skein/kernels/norm.h"
#include "skein/kernels/policy.h"
#include "skein/kernels/reduce.h"

#include "cuda/on_devices.h"
#include "support/kernel_check.h"

namespace skein {
namespace {

using test::OnCuda;
using test::random_tensor;
using test::Tensors;
using test::There;
using test::zeros_like;

TEST_P(OnCuda, Elementwise) {
  for (int64_t count : {1, 7, 1000, 4096}) {
    const Tensor x = random_tensor({count}, 1, dtype()), y = random_tensor({count}, 2, dtype()),
                 z = random_tensor({count}, 3, dtype());
    EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(x)}, tolerance(),
                            kernels::add(device, at(x), at(y), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(x)}, tolerance(),
                            kernels::scale(device, at(x), 0.3, Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(Tensors{random_tensor({count}, 4, DType::f32)}, 1e-5,
                            kernels::accumulate(device, at(x), Out(out[0])));
    for (auto kind :
         {kernels::Activation::gelu_tanh, kernels::Activation::gelu_erf, kernels::Activation::relu,
          kernels::Activation::tanh, kernels::Activation::silu, kernels::Activation::elu}) {
      EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(x)}, tolerance(),
                              kernels::activation(device, kind, at(x), Out(out[0])));
      EXPECT_EQUAL_ON_DEVICES(
          Tensors{zeros_like(x)}, tolerance(),
          kernels::activation_backward(device, kind, at(x), at(y), Out(out[0])));
    }
  }
}

TEST_P(OnCuda, Gates) {
  for (int64_t count : {1, 7, 1000, 4096})
    for (auto kind :
         {kernels::Activation::gelu_tanh, kernels::Activation::gelu_erf, kernels::Activation::relu,
          kernels::Activation::silu, kernels::Activation::elu}) {
      const Tensor x = random_tensor({count}, 1, dtype()), y = random_tensor({count}, 2, dtype()),
                   z = random_tensor({count}, 3, dtype());
      EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(x)}, tolerance(),
                              kernels::gated(device, kind, at(x), at(y), Out(out[0])));
      EXPECT_EQUAL_ON_DEVICES(
          (Tensors{zeros_like(x), zeros_like(x)}), tolerance(),
          kernels::gated_backward(device, kind, at(x), at(y), at(z), Out(out[0]), Out(out[1])));
    }
}

TEST_P(OnCuda, ElementsThatBeginAnywhere) {
  const Tensor x = random_tensor({100}, 1, dtype()).flat(3, 90),
               y = random_tensor({100}, 2, dtype()).flat(5, 90);
  EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(x)}, tolerance(),
                          kernels::add(device, at(x), at(y), Out(out[0])));
}

TEST_P(OnCuda, Bias) {
  for (int64_t columns : {1, 33, 256}) {
    const Tensor x = random_tensor({137, columns}, 1, dtype()),
                 bias = random_tensor({columns}, 2, dtype());
    EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(x)}, tolerance(),
                            kernels::add_bias(device, at(x), at(bias), Out(out[0])));
    const Tensor sums = x.to(gradient_dtype(dtype()));
    EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(sums)}, tolerance(),
                            kernels::add_bias(device, at(sums), at(bias), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(Tensors{random_tensor({columns}, 3, DType::f32)}, 1e-5,
                            kernels::bias_backward(device, at(x), Out(out[0])));
    const Tensor dy = random_tensor({137, columns}, 4, dtype());
    EXPECT_EQUAL_ON_DEVICES((Tensors{zeros_like(x), random_tensor({columns}, 3, DType::f32)}),
                            dtype() == DType::f32 ? 1e-5 : 3e-2,
                            kernels::activation_backward(device, kernels::Activation::gelu_tanh,
                                                         at(x), at(dy), Out(out[0]), Out(out[1])));
  }
}

TEST_P(OnCuda, DropoutDrawsTheSameMask) {
  const Tensor x = random_tensor({2, 10, 33}, 1, dtype());
  const kernels::DropoutMask mask{0.3, 77, Tensor::from(std::vector<int64_t>{5, 1ll << 40}, {2}),
                                  7};
  EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(x)}, tolerance(),
                          kernels::dropout(device, at(x), at(mask), Out(out[0])));
  kernels::DropoutMask part = mask;
  part.first_column = 33, part.columns = 100;
  EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(x)}, tolerance(),
                          kernels::dropout(device, at(x), at(part), Out(out[0])));
  for (part = mask, part.whole_samples = true; part.key < 80; ++part.key)
    EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(x)}, tolerance(),
                            kernels::dropout(device, at(x), at(part), Out(out[0])));
}

// A grid's second and third dim end at 65,535.
TEST_P(OnCuda, DropoutOfMoreSamplesThanAGridIsHigh) {
  const int64_t samples = 70'000;
  const Tensor x = random_tensor({samples, 2, 1}, 1, dtype());
  kernels::DropoutMask mask{0.3, 77, Tensor::zeros({samples}, DType::i64), 0};
  for (int64_t i = 0; i < samples; ++i) mask.sample_ids.data<int64_t>()[i] = i;
  for (bool whole : {false, true}) {
    mask.whole_samples = whole;
    EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(x)}, tolerance(),
                            kernels::dropout(device, at(x), at(mask), Out(out[0])));
  }
}

TEST_P(OnCuda, Norms) {
  for (auto kind : {kernels::Norm::layer, kernels::Norm::rms, kernels::Norm::rms_zero_centered})
    for (int64_t columns : {8, 100, 768}) {
      const int64_t rows = 75;
      const Tensor x = random_tensor({rows, columns}, 1, dtype()),
                   branch = random_tensor({rows, columns}, 2, dtype()),
                   gain = random_tensor({columns}, 3, dtype()),
                   bias = random_tensor({columns}, 4, dtype()),
                   dy = random_tensor({rows, columns}, 5, dtype());
      const Tensor stats = Tensor::zeros({rows}, DType::f32),
                   sums = random_tensor({columns}, 6, DType::f32);
      EXPECT_EQUAL_ON_DEVICES((Tensors{zeros_like(x), stats, stats}), tolerance(),
                              kernels::norm(device, at(x), {kind, at(gain), at(bias), 1e-5},
                                            Out(out[0]), Out(out[1]), Out(out[2])));
      EXPECT_EQUAL_ON_DEVICES((Tensors{zeros_like(x), stats, stats, zeros_like(x)}), tolerance(),
                              kernels::norm(device, at(x), {kind, at(gain), {}, 1e-5, at(branch)},
                                            Out(out[0]), Out(out[1]), Out(out[2]), Out(out[3])));
      const Tensor mean = stats.clone(), rstd = stats.clone();
      kernels::norm(Cpu{}, x, {kind, gain, bias, 1e-5}, Out(zeros_like(x)), Out(mean), Out(rstd));
      EXPECT_EQUAL_ON_DEVICES(
          (Tensors{zeros_like(x), sums, sums}), tolerance(),
          kernels::norm_backward(device, {kind, at(x), at(gain), at(mean), at(rstd)}, at(dy),
                                 at(branch), Out(out[0]), Out(out[1]), Out(out[2])));
      EXPECT_EQUAL_ON_DEVICES(
          (Tensors{zeros_like(x), sums}), tolerance(),
          kernels::norm_backward(device, {kind, at(x), at(gain), at(mean), at(rstd)}, at(dy), {},
                                 Out(out[0]), Out(out[1]), Out()));
      EXPECT_EQUAL_ON_DEVICES(
          (Tensors{zeros_like(x), sums}), tolerance(),
          kernels::norm_backward(device, {kind, at(x), at(gain), at(mean), at(rstd)}, at(dy), {},
                                 Out(out[0]), Out(), Out(out[1])));
      EXPECT_EQUAL_ON_DEVICES(
          Tensors{zeros_like(x)}, tolerance(),
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
  EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(dy)}, 0,
                          kernels::embedding(device, at(table), at(ids), 5, Out(out[0])));
  EXPECT_EQUAL_ON_DEVICES(Tensors{random_tensor({20, 36}, 3, DType::f32)}, 0,
                          kernels::embedding_backward(device, at(dy), at(ids), 5, Out(out[0])));
  for (auto layout : {kernels::Sinusoid::halves, kernels::Sinusoid::pairs})
    EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(dy)}, tolerance(),
                            kernels::sinusoid(device, at(ids), layout, Out(out[0])));
}

TEST_P(OnCuda, DistanceBias) {
  const kernels::DistanceBuckets buckets{16, 40, true};
  const Tensor table = random_tensor({3, 16}, 1, dtype());
  for (int64_t samples : {1, 5, 300}) {
    const Tensor bias = Tensor::zeros({samples, 3, 90}, DType::f32),
                 dbias = random_tensor(bias.shape(), 2, DType::f32);
    const auto here = kernels::bucketed_distances(buckets, -50, 90, {});
    const auto seen = [&](const auto& at) {
      return kernels::BucketedDistances{at(here.buckets), at(here.starts), at(here.members)};
    };
    EXPECT_EQUAL_ON_DEVICES(Tensors{bias}, 0,
                            kernels::distance_bias(device, at(table), seen(at), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(
        Tensors{random_tensor({3, 16}, 3, DType::f32)}, 0,
        kernels::distance_bias_backward(device, at(dbias), seen(at), Out(out[0])));
  }
}

TEST_P(OnCuda, SquaredErrors) {
  for (int64_t rows : {1, 9, 300}) {
    const Shape shape{rows, rows == 9 ? 1 : 48};
    const Tensor x = random_tensor(shape, 1, dtype()), values = random_tensor(shape, 2, DType::f32),
                 scales = random_tensor({rows}, 3, DType::f32);
    EXPECT_EQUAL_ON_DEVICES(Tensors{Tensor::zeros({rows}, DType::f32)}, 1e-6,
                            kernels::squared_errors(device, at(x), at(values), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(
        Tensors{zeros_like(x)}, tolerance(),
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
    const Tensor losses = random_tensor({rows}, 1, DType::f32), row = zeros_like(losses),
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
          Tensors{zeros_like(x)}, tolerance(),
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
        Tensors{zeros_like(logits)}, tolerance(),
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
        Tensors{zeros_like(logits)}, tolerance(),
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

TEST_P(OnCuda, SmoothedTargets) {
  for (const auto& [columns, valid] : {std::pair{700, 690}, {704, 704}, {701, 699}}) {
    const int64_t rows = 9;
    const Tensor logits = random_tensor({rows, columns}, 1, dtype()),
                 scales = random_tensor({rows}, 2, DType::f32),
                 row = Tensor::zeros({rows}, DType::f32), maximum = row.clone(), sums = row.clone(),
                 picked = row.clone(), all = random_tensor({rows}, 3, DType::f32);
    const Tensor targets =
        Tensor::from(std::vector<int32_t>{3, 99, 100, 101, 500, 789, 790, 795, 2000}, {rows});
    const kernels::Smoothing smoothing{0.1, 3000};
    kernels::row_maximum(Cpu{}, logits, valid, Out(maximum));
    kernels::row_sum_exp(Cpu{}, logits, {100, valid}, maximum, targets, Out(sums), Out(picked));
    EXPECT_EQUAL_ON_DEVICES(Tensors{row}, 1e-5,
                            kernels::row_sums(device, at(logits), valid, at(maximum), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES(
        Tensors{row}, 1e-6,
        kernels::smoothed_losses(device, at(sums), at(picked), at(all), smoothing, Out(out[0])));
    const auto seen = [&](const auto& at) {
      return kernels::PredictedRows{at(logits), {100, valid}, at(targets), at(maximum), at(sums)};
    };
    EXPECT_EQUAL_ON_DEVICES(
        Tensors{zeros_like(logits)}, tolerance(),
        kernels::smoothed_backward(device, seen(at), at(scales), smoothing, Out(out[0])));
  }
}

TEST_P(OnCuda, ReductionsAndMoves) {
  const Tensor x = random_tensor({5000}, 1, dtype());
  EXPECT_EQUAL_ON_DEVICES(Tensors{Tensor::zeros({5}, DType::f64)}, 1e-12,
                          kernels::chunk_square_sums(device, at(x), 1024, Out(out[0])));
  std::vector<double> numbers;
  for (int i = 0; i < 2000; ++i) numbers.push_back(1.0 / (i + 1));
  // Rows of 1,200 and 800 numbers, of which two have a part each.
  const Tensor values = Tensor::from(numbers, {2, 1000}),
               ranges = Tensor::from(std::vector<int64_t>{0, 1200, 600, 0, 5, 5, 600, 0, 100, 700,
                                                          400, 600, 399, 401, 400, 600},
                                     {4, 4});
  EXPECT_EQUAL_ON_DEVICES((Tensors{Tensor::zeros({4}, DType::f64)}), 1e-12,
                          kernels::range_sums(device, at(values), at(ranges), Out(out[0])));
  const Tensor order = Tensor::from(std::vector<int64_t>{1999, 3, 7}, {3});
  EXPECT_EQUAL_ON_DEVICES((Tensors{Tensor::zeros({1}, DType::f64)}), 1e-12,
                          kernels::ordered_sum(device, at(values), at(order), Out(out[0])));
  for (int64_t count : {1, 3, 4, 1000, 5000})
    EXPECT_EQUAL_ON_DEVICES((Tensors{Tensor::zeros({16}, DType::i64)}), 0,
                            kernels::digest(device, at(x.flat(0, count)), Out(out[0])));
  for (int64_t last : {1, 3, 8, 64}) {
    const Tensor y = random_tensor({3, 5, last}, 2, dtype());
    EXPECT_EQUAL_ON_DEVICES((Tensors{Tensor::zeros({5, 3, last}, dtype())}), 0,
                            kernels::swap_leading(device, at(y), Out(out[0])));
    EXPECT_EQUAL_ON_DEVICES((Tensors{random_tensor({3, 7, last}, 3, dtype())}), 0,
                            kernels::copy_positions(device, at(y), 1, 3, 2, Out(out[0])));
    const Tensor moves = Tensor::from(std::vector<int32_t>{0, 2, 1, 0, 1, 3}, {2, 3});
    EXPECT_EQUAL_ON_DEVICES((Tensors{random_tensor({3, 7, last}, 5, dtype())}), 0,
                            kernels::copy_tails(device, at(moves), 6, Out(out[0])));
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

// Those of attention_test.cpp and optimizer_test.cpp, too.
INSTANTIATE_TEST_SUITE_P(Types, OnCuda, testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace skein
