// Single layers: what is applied once, which formula, which tensors they make, and what is refused.
#include "skein/comm/local.h"
#include "skein/core/philox.h"

#include "nn/small_blocks.h"

namespace skein {
namespace {

double& weight(Parameters& parameters, const std::string& name) {
  return parameters.find(name)->value.data<double>()[0];
}

// A product of zeros, so that only the bias is left; its gradient counts all 4 positions once.
void expect_bias_once(Group& tp, bool sequence_parallel) {
  Parameters parameters(DType::f64, tp.rank(), tp.size());
  const Linear linear(parameters, {"down", 8, 3, Split::rows, true, 0.0, sequence_parallel});
  test::initialize_all(parameters, true);
  Pass pass;
  pass.tp = &tp;
  pass.sequence_parallel = sequence_parallel;
  const Var y = linear(Var::leaf(test::random_tensor({1, 4, 8 / tp.size()}, 1)), pass);
  const Parameter& bias = *parameters.find("down.bias");
  ASSERT_EQ(y.shape()[1], sequence_parallel ? 4 / tp.size() : 4);
  for (int64_t i = 0; i < y.value().size(); ++i)
    EXPECT_EQ(y.value().data<double>()[i], bias.value.data<double>()[i % 3]);
  backward(
      y, Tensor::from(std::vector<double>(static_cast<size_t>(y.value().size()), 1.0), y.shape()));
  EXPECT_EQ(bias.sum_over_shards, sequence_parallel && tp.size() > 1);
  if (bias.sum_over_shards) tp.all_reduce_sum(bias.gradient).wait();
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(bias.gradient.data<double>()[i], 4);
}

TEST(LinearLayer, SplitByRowsAddsItsBiasOnce) {
  for (int shards : {1, 2, 4})
    for (bool sequence_parallel : {false, true})
      run_ranks(shards, [=](Group& tp) { expect_bias_once(tp, sequence_parallel); });
}

TEST(LinearLayer, StartsAsItWasAskedTo) {
  Parameters parameters(DType::f64, 1, 2);
  const Linear linear(parameters, {"up", 3, 4, Split::columns, true, 0.7, true});
  ASSERT_EQ(parameters.all().size(), 2u);
  const Parameter &matrix = parameters.all()[0], &bias = parameters.all()[1];
  EXPECT_EQ(matrix.name, "up.weight");
  EXPECT_EQ(matrix.local, (Shape{2, 3}));
  EXPECT_EQ(matrix.box_start(), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(matrix.start.deviation, 0.7);
  EXPECT_TRUE(matrix.decays);
  EXPECT_EQ(bias.local, Shape{2});
  EXPECT_EQ(bias.start.kind, Start::zeros);
  EXPECT_FALSE(bias.decays);
  EXPECT_FALSE(bias.sum_over_shards) << "each shard has rows of its own, and sees all positions";
}

TEST(MlpLayer, HasTheAskedActivation) {
  const auto alone = single_rank();
  Pass pass;
  pass.tp = alone.get();
  const auto silu = [](double v) { return v / (1 + std::exp(-v)); };
  const auto by_erf = [](double v) { return v * (1 + std::erf(v / std::sqrt(2))) / 2; };
  const auto by_tanh = [](double v) {
    return v * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v))) / 2;
  };
  const double x = 0.8;
  for (const auto& [kind, wanted] : {std::pair{MlpKind::relu, x},
                                     {MlpKind::gelu_erf, by_erf(x)},
                                     {MlpKind::gelu_tanh, by_tanh(x)},
                                     {MlpKind::silu, silu(x)},
                                     {MlpKind::swiglu, silu(2 * x) * x},
                                     {MlpKind::geglu_erf, by_erf(2 * x) * x},
                                     {MlpKind::geglu_tanh, by_tanh(2 * x) * x},
                                     {MlpKind::reglu, 2 * x * x}}) {
    Parameters parameters(DType::f64, 0, 1);
    const Mlp mlp(parameters, {"mlp", 1, 1, kind, false});
    parameters.allocate(false);
    weight(parameters, "mlp.up.weight") = 1;
    weight(parameters, "mlp.down.weight") = 3;
    if (is_gated(kind)) weight(parameters, "mlp.gate.weight") = 2;
    const Var y = mlp(Var(Tensor::from(std::vector<double>{x}, {1, 1, 1})), pass);
    EXPECT_NEAR(y.value().data<double>()[0], 3 * wanted, 1e-12) << static_cast<int>(kind);
  }
}

TEST(NormOfALayer, HasABiasOnlyWhereAskedFor) {
  const auto names = [](ops::Norm kind, bool bias) {
    Parameters parameters(DType::f64, 0, 1);
    const NormLayer norm(parameters, {"norm", 4, kind, 1e-5, bias});
    std::vector<std::string> made;
    for (const Parameter& p : parameters.all()) made.push_back(p.name);
    return made;
  };
  EXPECT_EQ(names(ops::Norm::layer, true), (std::vector<std::string>{"norm.gain", "norm.bias"}));
  EXPECT_EQ(names(ops::Norm::layer, false), (std::vector<std::string>{"norm.gain"}));
  EXPECT_EQ(names(ops::Norm::rms, true), (std::vector<std::string>{"norm.gain"}));
}

TEST(NormOfALayer, BeginsAsTheNormAlone) {
  for (const auto kind : {ops::Norm::rms, ops::Norm::rms_zero_centered}) {
    Parameters parameters(DType::f64, 0, 1);
    const NormLayer norm(parameters, {"norm", 4, kind, 0, false});
    parameters.allocate(false);
    parameters.initialize(1);
    const Var y = norm(Var(Tensor::from(std::vector<double>{2, 0, 0, 0}, {1, 1, 4})));
    EXPECT_EQ(y.value().data<double>()[0], 2) << static_cast<int>(kind);
  }
}

TEST(ParameterSet, RefusesADimThatShardsDoNotDivide) {
  Parameters parameters(DType::f64, 0, 4);
  try {
    parameters.add({"block.0.mlp.up.weight", {6, 8}, Split::columns});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what())
                  .find("block.0.mlp.up.weight: dimension 0 of size 6 does not divide by "
                        "parallel.tensor=4"),
              std::string::npos)
        << error.what();
  }
  EXPECT_NO_THROW(parameters.add({"w", {6, 8}, Split::rows}));
  EXPECT_NO_THROW(parameters.add({"table", {6, 8}, Split::vocab}));
}

TEST(ParameterSet, KnowsWhichRowsOfAVocabularyArePadding) {
  for (const auto& [shard, valid] : {std::pair<int, int64_t>{0, 2}, {2, 1}, {3, 0}}) {
    Parameters parameters(DType::f64, shard, 4);
    const Parameter& p = parameters.add({"table", {5, 3}, Split::vocab});
    EXPECT_EQ(p.local, (Shape{2, 3}));
    EXPECT_EQ(p.valid, valid);
    EXPECT_EQ(p.valid_size(), valid * 3);
    EXPECT_EQ(p.box_extent(), (std::vector<int64_t>{valid, 3}));
  }
}

TEST(ParameterSet, AVocabularyOnAGpuHasWholeTilesOfRows) {
  for (const auto& [shards, part, valid] :
       {std::tuple<int, int64_t, int64_t>{1, 50304, 50257}, {2, 25152, 25105}, {8, 6336, 5905}}) {
    Parameters parameters(DType::bf16, shards - 1, shards, {DeviceKind::cuda, 0});
    const Parameter& p = parameters.add({"table", {50257, 8}, Split::vocab});
    EXPECT_EQ(p.local, (Shape{part, 8})) << "the last of " << shards;
    EXPECT_EQ(p.valid, valid);
    EXPECT_EQ(parameters.add({"w", {8, 520}, Split::rows}).local, (Shape{8, 520 / shards}));
  }
}

// Whatever part of a tensor is here begins with the numbers that it has in the whole.
TEST(ParameterSet, PartsBeginAsTheWholeDoes) {
  constexpr int64_t kRows = 70, kColumns = 130;
  for (const Split split : {Split::none, Split::columns, Split::rows, Split::vocab})
    for (int shard = 0; shard < 2; ++shard) {
      Parameters parameters(DType::f32, shard, 2);
      const ParameterSpec matrix{"w", {kRows, kColumns}, split, {Start::normal, 0.5}};
      const Parameter& w = parameters.add(matrix);
      const Parameter& b = parameters.add(
          {"b", {kRows}, split == Split::rows ? Split::none : split, {Start::normal, 0.5}});
      parameters.allocate(false);
      parameters.initialize(9);
      const std::vector<int64_t> at = w.box_start(), extent = w.box_extent();
      for (int64_t r = 0; r < extent[0]; ++r)
        for (int64_t c = 0; c < extent[1]; ++c) {
          const int64_t number = (at[0] + r) * kColumns + at[1] + c;
          ASSERT_EQ(w.value.data<float>()[r * extent[1] + c],
                    0.5f * normal_at(derive_key(9, "w"), 0, static_cast<uint64_t>(number)));
        }
      for (int64_t i = 0; i < b.valid_size(); ++i)
        ASSERT_EQ(b.value.data<float>()[i],
                  0.5f * normal_at(derive_key(9, "b"), 0, static_cast<uint64_t>(b.first + i)));
    }
}

TEST(ParameterSet, PaddingBeginsWithZeros) {
  Parameters parameters(DType::f32, 2, 4);
  const Parameter& table = parameters.add({"table", {5, 3}, Split::vocab, {Start::normal, 1}});
  const Parameter& gain = parameters.add({"gain", {5}, Split::vocab, {Start::ones}});
  parameters.allocate(false);
  parameters.initialize(9);
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(table.value.data<float>()[i] == 0, i >= 3) << "one row of two is left";
  EXPECT_EQ(gain.value.data<float>()[0], 1);
  EXPECT_EQ(gain.value.data<float>()[1], 0);
}

TEST(ParameterSet, TiedUsesShareValuesButNotGradients) {
  Parameters parameters(DType::f32, 0, 1);
  const Parameter& first = parameters.add({"table", {5, 3}, Split::vocab, {Start::normal, 1}});
  const Parameter& second =
      parameters.add({"head", {5, 3}, Split::vocab, {Start::normal, 1}, false, "table"});
  parameters.allocate(true);
  parameters.initialize(4);
  EXPECT_EQ(first.value.bytes_data(), second.value.bytes_data());
  EXPECT_NE(first.gradient.bytes_data(), second.gradient.bytes_data());
  Parameters elsewhere(DType::f32, 0, 1);  // another stage, which has the second use alone
  const Parameter& copy =
      elsewhere.add({"head", {5, 3}, Split::vocab, {Start::normal, 1}, false, "table"});
  elsewhere.allocate(true);
  elsewhere.initialize(4);
  EXPECT_EQ(test::bytes_of(copy.value), test::bytes_of(first.value));
}

TEST(DropoutKey, DependsOnAllThatItIsMadeOf) {
  Pass pass;
  pass.seed = 3;
  pass.step = 7;
  const uint64_t key = pass.dropout_key(1, 2);
  EXPECT_EQ(pass.dropout_key(1, 2), key);
  EXPECT_NE(pass.dropout_key(2, 1), key);
  EXPECT_NE(pass.dropout_key(-1, 2), key);
  pass.step = 7 + (int64_t{1} << 32);
  EXPECT_NE(pass.dropout_key(1, 2), key);
  pass.step = 7;
  pass.seed = 4;
  EXPECT_NE(pass.dropout_key(1, 2), key);
}

}  // namespace
}  // namespace skein
