// The backward of every small kernel, called directly: its values in all types, and that
// parameters' gradients add.
#include "skein/kernels/attention.h"
#include "skein/kernels/elementwise.h"
#include "skein/kernels/embedding.h"
#include "skein/kernels/loss.h"
#include "skein/kernels/norm.h"
#include "skein/kernels/rotary.h"

#include "support/kernel_check.h"

namespace skein {
namespace {

using test::bytes_of;
using test::check_backward;
using test::expect_near;
using test::like;
using test::random_tensor;
using test::sums_like;
using test::Tensors;

TEST(Backward, Activations) {
  for (auto kind :
       {kernels::Activation::gelu_tanh, kernels::Activation::gelu_erf, kernels::Activation::relu,
        kernels::Activation::tanh, kernels::Activation::silu, kernels::Activation::elu}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const auto forward = [=](const Tensors& in) {
      const Tensor out = like(in[0]);
      kernels::activation(Cpu{}, kind, in[0], Out(out));
      return out;
    };
    const auto backward = [=](const Tensors& in, const Tensor& dy) {
      const Tensor dx = like(in[0]);
      kernels::activation_backward(Cpu{}, kind, in[0], dy, Out(dx));
      return Tensors{dx};
    };
    check_backward(forward, backward, {{4, 9}});
  }
}

TEST(Backward, Gates) {
  for (auto kind :
       {kernels::Activation::gelu_tanh, kernels::Activation::gelu_erf, kernels::Activation::relu,
        kernels::Activation::tanh, kernels::Activation::silu, kernels::Activation::elu}) {
    const auto forward = [=](const Tensors& in) {
      const Tensor out = like(in[0]);
      kernels::gated(Cpu{}, kind, in[0], in[1], Out(out));
      return out;
    };
    const auto backward = [=](const Tensors& in, const Tensor& dy) {
      const Tensor dgate = like(in[0]), dup = like(in[1]);
      kernels::gated_backward(Cpu{}, kind, in[0], in[1], dy, Out(dgate), Out(dup));
      return Tensors{dgate, dup};
    };
    check_backward(forward, backward, {{4, 9}, {4, 9}});
  }
}

// A gate is the activation of one and the product with the other, rounded once.
TEST(Backward, AGateIsItsActivationTimesTheOther) {
  const Tensor gate = test::random_tensor({33}, 1), up = test::random_tensor({33}, 2),
               made = like(gate), of_gate = like(gate);
  for (auto kind :
       {kernels::Activation::gelu_tanh, kernels::Activation::gelu_erf, kernels::Activation::relu,
        kernels::Activation::tanh, kernels::Activation::silu, kernels::Activation::elu}) {
    kernels::gated(Cpu{}, kind, gate, up, Out(made));
    kernels::activation(Cpu{}, kind, gate, Out(of_gate));
    for (int64_t i = 0; i < gate.size(); ++i)
      EXPECT_EQ(made.data<double>()[i], of_gate.data<double>()[i] * up.data<double>()[i]);
  }
}

TEST(Backward, Bias) {
  const auto forward = [](const Tensors& in) {
    const Tensor out = like(in[0]);
    kernels::add_bias(Cpu{}, in[0], in[1], Out(out));
    return out;
  };
  const auto backward = [](const Tensors& in, const Tensor& dy) {
    const Tensor dbias = sums_like(in[1]);
    kernels::bias_backward(Cpu{}, dy, Out(dbias));
    return Tensors{dy, dbias};
  };
  check_backward(forward, backward, {{6, 5}, {5}});
}

struct NormRun {
  Tensor out, mean, rstd;
};

// in: x, gain and, or not, bias.
NormRun run_norm(kernels::Norm kind, const Tensors& in) {
  const DType wide = gradient_dtype(in[0].dtype());
  const NormRun made{like(in[0]), Tensor::zeros({in[0].dim(0)}, wide),
                     Tensor::zeros({in[0].dim(0)}, wide)};
  kernels::norm(Cpu{}, in[0], {kind, in[1], in.size() > 2 ? in[2] : Tensor(), 1e-5}, Out(made.out),
                Out(made.mean), Out(made.rstd));
  return made;
}

Tensors norm_gradients(kernels::Norm kind, const Tensors& in, const Tensor& dy) {
  const NormRun run = run_norm(kind, in);
  Tensors made{like(in[0]), sums_like(in[1])};
  if (in.size() > 2) made.push_back(sums_like(in[2]));
  kernels::norm_backward(Cpu{}, {kind, in[0], in[1], run.mean, run.rstd}, dy, {}, Out(made[0]),
                         Out(made[1]), Out(in.size() > 2 ? made[2] : Tensor()));
  return made;
}

TEST(Backward, Norms) {
  for (auto kind : {kernels::Norm::layer, kernels::Norm::rms, kernels::Norm::rms_zero_centered})
    for (const std::vector<Shape>& shapes :
         {std::vector<Shape>{{5, 37}, {37}, {37}}, std::vector<Shape>{{3, 16}, {16}}}) {
      SCOPED_TRACE(static_cast<int>(kind));
      check_backward(
          [=](const Tensors& in) { return run_norm(kind, in).out; },
          [=](const Tensors& in, const Tensor& dy) { return norm_gradients(kind, in, dy); },
          shapes);
    }
}

TEST(Backward, Embedding) {
  const Tensor ids = Tensor::from(std::vector<int32_t>{5, 9, 6, 5, 2, 5}, {6});
  const auto forward = [&](const Tensors& in) {
    const Tensor out = Tensor::empty({6, 3}, in[0].dtype());
    kernels::embedding(Cpu{}, in[0], ids, 5, Out(out));
    return out;
  };
  const auto backward = [&](const Tensors& in, const Tensor& dy) {
    const Tensor dtable = sums_like(in[0]);
    kernels::embedding_backward(Cpu{}, dy, ids, 5, Out(dtable));
    return Tensors{dtable};
  };
  check_backward(forward, backward, {{4, 3}});
}

TEST(Backward, Rotary) {
  const Tensor positions = Tensor::from(std::vector<int32_t>{0, 1, 5, 2, 0, 9}, {2, 3});
  const auto turn = [&](const Tensor& x, bool inverse) {
    const Tensor out = like(x);
    kernels::rotary(Cpu{}, x, positions, {100}, inverse, Out(out));
    return out;
  };
  check_backward([&](const Tensors& in) { return turn(in[0], false); },
                 [&](const Tensors&, const Tensor& dy) { return Tensors{turn(dy, true)}; },
                 {{2, 3, 2, 6}});
}

// The target of row 2 is held elsewhere; columns 6 and 7 are padding.
struct Loss {
  static constexpr int64_t kValid = 6, kFirst = 10;
  Tensor targets = Tensor::from(std::vector<int32_t>{10, 15, 3}, {3});
  Tensor maximum, sum, target;

  explicit Loss(const Tensor& logits) {
    for (Tensor* made : {&maximum, &sum, &target})
      *made = Tensor::zeros({3}, gradient_dtype(logits.dtype()));
    kernels::row_maximum(Cpu{}, logits, kValid, Out(maximum));
    kernels::row_sum_exp(Cpu{}, logits, {kFirst, kValid}, maximum, targets, Out(sum), Out(target));
  }

  // Minus the log likelihood where the target is held here, else the log of the denominator.
  Tensor values() const {
    std::vector<double> made;
    for (size_t row = 0; row < 3; ++row) {
      const double level = row == 2 ? test::values_of(maximum)[row] : 0;
      made.push_back(level + std::log(test::values_of(sum)[row]) - test::values_of(target)[row]);
    }
    return Tensor::from(made, {3}).to(sum.dtype());
  }
};

TEST(Backward, CrossEntropy) {
  const auto backward = [](const Tensors& in, const Tensor& row_scale) {
    const Loss loss(in[0]);
    const Tensor dlogits = like(in[0]);
    kernels::cross_entropy_backward(
        Cpu{}, {in[0], {Loss::kFirst, Loss::kValid}, loss.targets, loss.maximum, loss.sum},
        row_scale, Out(dlogits));
    return Tensors{dlogits};
  };
  check_backward([](const Tensors& in) { return Loss(in[0]).values(); }, backward, {{3, 8}});
}

TEST(Backward, DropoutIsItsOwn) {
  const kernels::DropoutMask mask{0.4, 77, Tensor::from(std::vector<int64_t>{3, 8}, {2}), 5};
  const auto masked = [&](const Tensor& x) {
    const Tensor out = like(x);
    kernels::dropout(Cpu{}, x, mask, Out(out));
    return out;
  };
  check_backward([&](const Tensors& in) { return masked(in[0]); },
                 [&](const Tensors&, const Tensor& dy) { return Tensors{masked(dy)}; },
                 {{2, 3, 5}});
}

TEST(Backward, OfParametersAddsToWhatIsThere) {
  const Tensor x = random_tensor({6, 5}, 1), gain = random_tensor({5}, 2),
               dy = random_tensor({6, 5}, 3);
  const Tensor ids = Tensor::from(std::vector<int32_t>{0, 3, 1, 0, 2, 7}, {6});
  const NormRun run = run_norm(kernels::Norm::layer, {x, gain});
  const auto all = [&](double start) {
    Tensors made;
    for (const Shape& shape : {Shape{5}, Shape{5}, Shape{5}, Shape{4, 5}})
      made.push_back(
          Tensor::from(std::vector<double>(static_cast<size_t>(shape.size()), start), shape));
    kernels::bias_backward(Cpu{}, dy, Out(made[0]));
    kernels::norm_backward(Cpu{}, {kernels::Norm::layer, x, gain, run.mean, run.rstd}, dy, {},
                           Out(like(x)), Out(made[1]), Out(made[2]));
    kernels::embedding_backward(Cpu{}, dy, ids, 0, Out(made[3]));
    return made;
  };
  const Tensors fresh = all(0), added = all(1);
  for (size_t i = 0; i < fresh.size(); ++i)
    for (int64_t j = 0; j < fresh[i].size(); ++j)
      EXPECT_NEAR(added[i].data<double>()[j], fresh[i].data<double>()[j] + 1, 1e-12)
          << i << " " << j;
}

TEST(Rotary, TurnsEveryHeadByItsPosition) {
  const Tensor positions = Tensor::from(std::vector<int32_t>{0, 1, 100000, 17, 3, 4096}, {2, 3});
  const Tensor x = random_tensor({2, 3, 2, 6}, 1), wanted = like(x);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t j = i % 6 % 3, pair = i / 6 * 6 + j;
    const double angle =
        positions.data<int32_t>()[i / 12] * std::pow(10000.0, -2.0 * static_cast<double>(j) / 6.0);
    const double a = x.data<double>()[pair], b = x.data<double>()[pair + 3];
    wanted.data<double>()[i] = i % 6 < 3 ? a * std::cos(angle) - b * std::sin(angle)
                                         : b * std::cos(angle) + a * std::sin(angle);
  }
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::f64, 1e-10}, {DType::f32, 1e-5}, {DType::bf16, 4e-2}}) {
    const Tensor out = Tensor::empty(x.shape(), dtype);
    kernels::rotary(Cpu{}, x.to(dtype), positions, {10000}, false, Out(out));
    expect_near(out, wanted, tolerance, std::string(name_of(dtype)));
  }
}

TEST(Dropout, OfAnyRowsAloneIsThatOfTheWhole) {
  // 3 columns: rows begin inside of a block of four random numbers.
  const Tensor x = random_tensor({2, 20, 3}, 1, DType::f32), whole = like(x),
               ids = Tensor::from(std::vector<int64_t>{4, 7}, {2});
  kernels::dropout(Cpu{}, x, {0.5, 9, ids, 0}, Out(whole));
  for (int64_t sample : {0, 1})
    for (int64_t first = 0; first < 20; first += 3) {
      const Tensor rows = x.flat((sample * 20 + first) * 3, (20 - first) * 3)
                              .reshape({1, 20 - first, 3}),
                   out = like(rows);
      kernels::dropout(Cpu{}, rows, {0.5, 9, ids.rows(sample, sample + 1), first}, Out(out));
      EXPECT_EQ(bytes_of(out), bytes_of(whole.flat((sample * 20 + first) * 3, (20 - first) * 3)))
          << sample << " " << first;
    }
}

TEST(Dropout, OfNothingIsNothing) {
  const Tensor x = Tensor::empty({2, 0, 3}, DType::f32),
               ids = Tensor::from(std::vector<int64_t>{4, 7}, {2});
  const Tensor out = like(x);
  kernels::dropout(Cpu{}, x, {0.5, 9, ids, 0}, Out(out));
  EXPECT_EQ(out.size(), 0);
}

TEST(Dropout, HangsOnKeyAndSampleAndKeepsAllAtZero) {
  const Tensor x = Tensor::from(std::vector<float>(2 * 64, 1.0f), {2, 8, 8}), none = like(x),
               one = like(x), other = like(x);
  const Tensor ids = Tensor::from(std::vector<int64_t>{4, 7}, {2});
  kernels::dropout(Cpu{}, x, {0, 9, ids, 0}, Out(none));
  EXPECT_EQ(bytes_of(none), bytes_of(x));
  kernels::dropout(Cpu{}, x, {0.5, 9, ids, 0}, Out(one));
  kernels::dropout(Cpu{}, x, {0.5, 10, ids, 0}, Out(other));
  EXPECT_NE(bytes_of(one), bytes_of(other));
  EXPECT_NE(bytes_of(one.rows(0, 1)), bytes_of(one.rows(1, 2)));
}

}  // namespace
}  // namespace skein
