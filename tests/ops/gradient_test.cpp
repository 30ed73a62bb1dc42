// A gradient check in f64 of every operation and option.
#include "skein/comm/local.h"
#include "skein/core/where.h"
#include "skein/ops/attention.h"
#include "skein/ops/embedding.h"
#include "skein/ops/linear.h"
#include "skein/ops/loss.h"
#include "skein/ops/math.h"
#include "skein/ops/recompute.h"

#include "support/gradient_check.h"

namespace skein {
namespace {

using test::check_gradients;
using test::Checked;

Tensor ids(std::vector<int32_t> values, const Shape& shape) { return Tensor::from(values, shape); }
Tensor sample_ids(std::vector<int64_t> values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())});
}

TEST(Gradient, Add) {
  check_gradients([](const Checked& at) { return ops::add(at.inputs[0], at.inputs[1]); },
                  {{3, 5}, {3, 5}});
}

TEST(Gradient, UseOfOneVarTwice) {
  check_gradients(
      [](const Checked& at) {
        return ops::add(at.inputs[0], ops::activation(at.inputs[0], ops::Activation::gelu_erf));
      },
      {{4, 4}});
}

TEST(Gradient, Activations) {
  for (auto kind : {ops::Activation::gelu_tanh, ops::Activation::gelu_erf, ops::Activation::relu,
                    ops::Activation::tanh, ops::Activation::silu, ops::Activation::elu})
    check_gradients([=](const Checked& at) { return ops::activation(at.inputs[0], kind); },
                    {{5, 7}});
}

TEST(Gradient, Gates) {
  for (auto kind : {ops::Activation::gelu_tanh, ops::Activation::gelu_erf, ops::Activation::relu,
                    ops::Activation::tanh, ops::Activation::silu, ops::Activation::elu})
    check_gradients([=](const Checked& at) { return ops::gated(at.inputs[0], at.inputs[1], kind); },
                    {{4, 9}, {4, 9}});
}

TEST(Gradient, Dropout) {
  const ops::DropoutMask mask{0.4, 77, sample_ids({3, 8}), 5};
  check_gradients([&](const Checked& at) { return ops::dropout(at.inputs[0], mask); }, {{2, 3, 5}});
  const ops::DropoutMask part{0.4, 77, sample_ids({3, 8}), 0, 5, 15};
  check_gradients([&](const Checked& at) { return ops::dropout(at.inputs[0], part); }, {{2, 3, 5}});
}

TEST(Gradient, Norms) {
  for (auto kind : {ops::Norm::layer, ops::Norm::rms, ops::Norm::rms_zero_centered}) {
    check_gradients(
        [=](const Checked& at) { return ops::norm(at.inputs[0], kind, at.weights[0], {}, 1e-5); },
        {{2, 3, 6}}, {{6}});
    if (kind == ops::Norm::layer)
      check_gradients(
          [=](const Checked& at) {
            return ops::norm(at.inputs[0], kind, at.weights[0], at.weights[1], 1e-5);
          },
          {{2, 3, 6}}, {{6}, {6}});
    // Both results go on, as in a residual stream.
    check_gradients(
        [=](const Checked& at) {
          const auto [sum, normed] =
              ops::add_norm(at.inputs[0], at.inputs[1], kind, at.weights[0], {}, 1e-5);
          return ops::add(sum, ops::activation(normed, ops::Activation::gelu_tanh));
        },
        {{2, 3, 6}, {2, 3, 6}}, {{6}});
  }
}

TEST(Gradient, LinearWithActivation) {
  for (auto kind : {ops::Activation::gelu_tanh, ops::Activation::gelu_erf})
    check_gradients(
        [=](const Checked& at) {
          return ops::linear(at.inputs[0], at.weights[0], at.weights[1], kind);
        },
        {{2, 3, 4}}, {{5, 4}, {5}});
}

TEST(Gradient, Linear) {
  check_gradients([](const Checked& at) { return ops::linear(at.inputs[0], at.weights[0], {}); },
                  {{2, 3, 4}}, {{5, 4}});
  check_gradients(
      [](const Checked& at) { return ops::linear(at.inputs[0], at.weights[0], at.weights[1]); },
      {{2, 3, 4}}, {{5, 4}, {5}});
  check_gradients([](const Checked& at) { return ops::add_bias(at.inputs[0], at.weights[0]); },
                  {{2, 3, 4}}, {{4}});
}

TEST(Gradient, OfAFrozenWeightIsNotMade) {
  const WeightMemory frozen{test::random_tensor({3, 4}, 1), {}, nullptr, false};
  check_gradients([&](const Checked& at) { return ops::linear(at.inputs[0], frozen, {}); },
                  {{2, 4}});
  EXPECT_FALSE(ops::linear(Var(test::random_tensor({2, 4}, 2)), frozen, {}).needs_gradient());
}

TEST(Gradient, Attention) {
  const Shape q{2, 6, 4, 3};
  ops::AttentionArguments plain, segments, dropout, padded;
  plain.scale = segments.scale = dropout.scale = padded.scale = 0.7;
  segments.pattern.query_segments = segments.pattern.key_segments =
      ids({0, 0, 1, 1, 1, 2, 0, 0, 0, 0, 1, 1}, {2, 6});
  dropout.dropout = 0.3;
  dropout.dropout_key = 5;
  dropout.sample_ids = sample_ids({4, 1});
  dropout.first_head = 2;
  padded.pattern.first_key = ids({2, 0}, {2});
  for (const auto& arguments : {plain, segments, dropout, padded})
    for (int64_t kv_heads : {4, 2, 1})
      check_gradients(
          [&](const Checked& at) {
            return ops::attention(at.inputs[0], at.inputs[1], at.inputs[2], arguments);
          },
          {q, {2, 6, kv_heads, 3}, {2, 6, kv_heads, 3}});
}

TEST(Gradient, AttentionOverAnotherSequence) {
  ops::AttentionArguments all, segments, causal;
  all.pattern = segments.pattern = kernels::Pattern::full();
  segments.pattern.query_segments = ids({0, 0, 1, 1, 2, 0, 1, 1}, {2, 4});
  for (int64_t keys : {3, 6}) {
    const Tensor own = Tensor::zeros({2, keys}, DType::i32);
    for (int64_t i = 0; i < own.size(); ++i) own.data<int32_t>()[i] = i % keys > 1;
    segments.pattern.key_segments = own;
    for (const auto& arguments : {all, segments, causal})
      check_gradients(
          [&](const Checked& at) {
            return ops::attention(at.inputs[0], at.inputs[1], at.inputs[2], arguments);
          },
          {{2, 4, 2, 3}, {2, keys, 1, 3}, {2, keys, 1, 3}});
  }
}

// Two queries see keys before and after them, one key is seen by all, and what softmax divided by
// is used too.
TEST(Gradient, AttentionWithABiasAndItsLevel) {
  ops::AttentionArguments arguments;
  arguments.scale = 0.7;
  arguments.pattern = kernels::Pattern::window(2, true);
  arguments.pattern.prefix = ids({2, 0}, {2});
  arguments.pattern.marked = ids({0, 0, 0, 1, 0, 0, 0, 0, 0, 1}, {2, 5});
  for (const Shape& bias : {Shape{2, 2, 8}, {1, 2, 8}, {2, 2, 4, 5}, {1, 2, 4, 5}})
    check_gradients(
        [&](const Checked& at) {
          Var level;
          const Var out = ops::attention(at.inputs[0], at.inputs[1], at.inputs[2], arguments,
                                         at.inputs[3], &level);
          return ops::end_to_end({ops::reshape(out, {48}), ops::reshape(level, {16})});
        },
        {{2, 4, 2, 3}, {2, 5, 1, 3}, {2, 5, 1, 3}, bias});
}

TEST(Gradient, AttentionOverSeveralBlocksOfQueries) {
  ops::AttentionArguments arguments;
  arguments.scale = 0.5;
  check_gradients(
      [&](const Checked& at) {
        return ops::attention(at.inputs[0], at.inputs[1], at.inputs[2], arguments);
      },
      {{1, 70, 1, 2}, {1, 70, 1, 2}, {1, 70, 1, 2}});
}

// A row of two parts, one of one, one of none; one part is nobody's.
TEST(Gradient, MergedRounds) {
  const Tensor rows = Tensor::from(std::vector<int32_t>{2, -1, -1, 0, 3, -1}, {2, 3});
  check_gradients(
      [&](const Checked& at) { return ops::merge_rounds(at.inputs[0], at.inputs[1], rows); },
      {{4, 3}, {4}});
}

TEST(Gradient, RotaryAndReshape) {
  const Tensor positions = ids({0, 1, 5, 2, 0, 9}, {2, 3});
  check_gradients([&](const Checked& at) { return ops::rotary(at.inputs[0], positions, {100}); },
                  {{2, 3, 2, 4}});
  for (const ops::RotaryWaves& waves : std::initializer_list<ops::RotaryWaves>{
           {100, kernels::RopeScaling::llama3, 8, 1, 4, 64},
           {100, kernels::RopeScaling::yarn, 4, 1, 32, 64, 1.5, 4},
           {.scaling = kernels::RopeScaling::longrope, .factors = {1, 2, 4, 8}}})
    check_gradients([&](const Checked& at) { return ops::rotary(at.inputs[0], positions, waves); },
                    {{2, 3, 2, 8}});
  check_gradients(
      [](const Checked& at) {
        return ops::reshape(at.inputs[0], {6, 4});
      },
      {{2, 3, 4}});
}

TEST(Gradient, Embedding) {
  const Tensor words = ids({0, 3, 3, 9, 4, 1}, {2, 3});
  for (int64_t first : {0, 3})
    check_gradients([&](const Checked& at) { return ops::embedding(words, at.weights[0], first); },
                    {}, {{5, 4}});
}

TEST(Gradient, TakenPlaces) {
  data::Batch batch;
  batch.tokens = ids({0, 0, 0, 0, 0, 0}, {2, 3});
  batch.places = ids({2, 0, 1, -1}, {2, 2});
  batch = placed(batch, {});
  check_gradients([&](const Checked& at) { return ops::take_places(at.inputs[0], batch); },
                  {{2, 3, 4}});
  const Tensor x = test::random_tensor({2, 3, 4}, 3),
               taken = ops::take_places(Var(x), batch).value();
  for (const auto& [row, from] : {std::pair{0, 2}, {1, 0}, {2, 4}})
    for (int64_t c = 0; c < 4; ++c)
      EXPECT_EQ(taken.data<double>()[row * 4 + c], x.data<double>()[from * 4 + c]);
  EXPECT_EQ(taken.data<double>()[3 * 4], 0);
}

TEST(Gradient, SampleMeans) {
  const Tensor segments = ids({0, 0, -1, 1, 0, 1}, {2, 3});
  for (const Tensor& kept : {segments, Tensor()})
    check_gradients([&](const Checked& at) { return ops::sample_means(at.inputs[0], kept); },
                    {{2, 3, 4}});
  const Tensor x = test::random_tensor({2, 3, 4}, 3),
               means = ops::sample_means(Var(x), segments).value();
  EXPECT_EQ(means.shape(), (Shape{2, 1, 4}));
  const double* from = x.data<double>();
  for (int64_t c = 0; c < 4; ++c) {
    EXPECT_DOUBLE_EQ(means.data<double>()[c], (from[c] + from[4 + c]) / 2);
    EXPECT_DOUBLE_EQ(means.data<double>()[4 + c], (from[12 + c] + from[16 + c] + from[20 + c]) / 3);
  }
}

TEST(Gradient, RepeatRows) {
  check_gradients([](const Checked& at) { return ops::repeat_rows(at.inputs[0], 3); }, {{2, 4}});
  const Tensor x = test::random_tensor({2, 2}, 3);
  const Tensor made = ops::repeat_rows(Var(x), 2).value();
  EXPECT_EQ(made.shape(), (Shape{4, 2}));
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(made.data<double>()[i], x.data<double>()[i / 4 * 2 + i % 2]);
}

TEST(Gradient, FirstPosition) {
  check_gradients([](const Checked& at) { return ops::first_position(at.inputs[0]); }, {{2, 3, 4}});
}

TEST(Gradient, Prepend) {
  check_gradients([](const Checked& at) { return ops::prepend(at.weights[0], at.inputs[0]); },
                  {{3, 4, 5}}, {{1, 5}});
  const Tensor x = test::random_tensor({2, 2, 3}, 3), row = test::random_tensor({1, 3}, 4);
  const WeightMemory table{row, {}, nullptr, false};
  const Tensor made = ops::prepend(table, Var(x)).value();
  EXPECT_EQ(made.shape(), (Shape{2, 3, 3}));
  for (int64_t i = 0; i < 18; ++i) {
    const int64_t place = i / 3 % 3, sample = i / 9;
    EXPECT_EQ(made.data<double>()[i], place == 0
                                          ? row.data<double>()[i % 3]
                                          : x.data<double>()[(sample * 2 + place - 1) * 3 + i % 3]);
  }
}

TEST(Gradient, CrossEntropyOfALinearHeadWithPaddingRows) {
  const auto alone = single_rank();
  const Tensor targets = ids({0, 4, 2}, {3}),
               row_weights = test::random_tensor({3}, 99);  // what the check hands to backward
  check_gradients(
      [&](const Checked& at) {
        return ops::linear_cross_entropy(at.inputs[0], {at.weights[0], {}, {0, 5}, alone.get()},
                                         targets, row_weights, 3);
      },
      {{3, 4}}, {{7, 4}});
  check_gradients(
      [&](const Checked& at) {
        return ops::linear_cross_entropy(at.inputs[0], {at.weights[0], at.weights[1], {0, 5}},
                                         targets, row_weights, 3);
      },
      {{3, 4}}, {{7, 4}, {7}});
}

TEST(Gradient, Scale) {
  check_gradients([](const Checked& at) { return ops::scale(at.inputs[0], 0.7); }, {{2, 3}});
}

TEST(Gradient, SmallLosses) {
  const Tensor targets = ids({0, 4, 2}, {3}), values = test::random_tensor({3, 4}, 5, DType::f32);
  check_gradients([&](const Checked& at) { return ops::cross_entropy(at.inputs[0], targets); },
                  {{3, 5}});
  check_gradients(
      [&](const Checked& at) {
        return ops::cross_entropy(at.inputs[0], targets, ops::SmoothedLoss{{0.2, 5}});
      },
      {{3, 5}});
  check_gradients([&](const Checked& at) { return ops::squared_error(at.inputs[0], values); },
                  {{3, 4}});
  check_gradients(
      [&](const Checked& at) {
        return ops::end_to_end({ops::squared_error(at.inputs[0], values), at.inputs[1]});
      },
      {{3, 4}, {4}});
}

TEST(Gradient, Recompute) {
  const ops::DropoutMask mask{0.4, 77, sample_ids({3, 8}), 0};
  check_gradients(
      [&](const Checked& at) {
        return ops::recompute(
            {at.inputs[0]}, [&, weight = at.weights[0]](const std::vector<Var>& x) {
              return ops::dropout(
                  ops::activation(ops::linear(x[0], weight, {}), ops::Activation::gelu_tanh), mask);
            });
      },
      {{2, 3, 4}}, {{4, 4}});
}

TEST(Gradient, RecomputeOfSeveralInputs) {
  check_gradients(
      [&](const Checked& at) {
        return ops::recompute(at.inputs, [weight = at.weights[0]](const std::vector<Var>& x) {
          return ops::gated(ops::linear(x[0], weight, {}), ops::add(ops::add(x[1], x[1]), x[2]),
                            ops::Activation::silu);
        });
      },
      {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}}, {{4, 4}});
}

// One is a constant, one is not there, and one plays no part.
TEST(Recompute, MakesTheGradientsThatAreWanted) {
  const Var x = Var::leaf(test::random_tensor({2, 3}, 1)),
            unused = Var::leaf(test::random_tensor({5}, 2)),
            constant(test::random_tensor({2, 3}, 3));
  int runs = 0;
  const Var y = ops::recompute({x, constant, {}, unused}, [&](const std::vector<Var>& given) {
    ++runs;
    EXPECT_FALSE(given[1].needs_gradient());
    EXPECT_FALSE(given[2].defined());
    return ops::gated(given[0], given[1], ops::Activation::silu);
  });
  EXPECT_EQ(runs, 1);
  const Tensor dy = test::random_tensor({2, 3}, 4);
  backward(y, dy.clone());
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(unused.gradient().defined());
  const Var plain = Var::leaf(x.value());
  backward(ops::gated(plain, constant, ops::Activation::silu), dy.clone());
  EXPECT_EQ(test::bytes_of(x.gradient()), test::bytes_of(plain.gradient()));
}

TEST(Recompute, OfWhatLearnsNothingPassesNothingBack) {
  const Var constant(test::random_tensor({2, 3}, 3));
  const Var y = ops::recompute({constant}, [](const std::vector<Var>& given) {
    return ops::activation(given[0], ops::Activation::relu);
  });
  backward(y, test::random_tensor({2, 3}, 4));
  EXPECT_FALSE(constant.gradient().defined());
}

TEST(Tape, RunsInReverseOrderAndFreesLongGraphsInALoop) {
  std::vector<int> order;
  const Var x = Var::leaf(Tensor::zeros({1}, DType::f64));
  Var y = x;
  for (int i = 0; i < 200'000; ++i)
    y = record(y.value(), {y}, false, [&order, i, y](const Tensor& dy) {
      if (i < 3) order.push_back(i);
      y.add_gradient(dy);
    });
  backward(y, Tensor::from(std::vector<double>{2.5}, {1}));
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(x.gradient().data<double>()[0], 2.5);
  Var dropped = x;
  for (int i = 0; i < 200'000; ++i)
    dropped = record(dropped.value(), {dropped}, false, [](const Tensor&) {});
}

TEST(Tape, EachStepRunsInThePartThatRecordedIt) {
  std::vector<std::string> parts;
  Var y = Var::leaf(Tensor::zeros({1}, DType::f64));
  for (const char* name : {"block.0", "block.1"}) {
    const WhereScope part = WhereScope::part(name);
    y = record(y.value(), {y}, false, [&parts, y](const Tensor& dy) {
      parts.push_back(where().str());
      y.add_gradient(dy);
    });
  }
  const WhereScope step = WhereScope::step(3);
  backward(y, Tensor::from(std::vector<double>{1}, {1}));
  EXPECT_EQ(parts, (std::vector<std::string>{"step 3, block.1", "step 3, block.0"}));
  EXPECT_EQ(where().str(), "step 3");
}

TEST(Tape, RecordsNothingUnderNoGrad) {
  const Var x = Var::leaf(Tensor::zeros({1}, DType::f64));
  const NoGrad no_grad;
  EXPECT_FALSE(ops::add(x, x).needs_gradient());
  const Grad grad;
  EXPECT_TRUE(ops::add(x, x).needs_gradient());
}

}  // namespace
}  // namespace skein
