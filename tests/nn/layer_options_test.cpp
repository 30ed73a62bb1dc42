// What layers do beyond the plain ones: scaled embeddings, start values of their own, constant
// tensors, dropout within feed-forward layers, tables by distance.
#include "skein/comm/local.h"
#include "skein/core/philox.h"
#include "skein/nn/attention.h"
#include "skein/nn/distance_bias.h"
#include "skein/nn/embedding.h"

#include "support/gradient_check.h"

namespace skein {
namespace {

data::Batch some_batch() {
  data::Batch batch;
  batch.tokens = Tensor::from(std::vector<int32_t>{1, 4, 2, 0, 3, 3}, {2, 3});
  batch.positions = Tensor::from(std::vector<int32_t>{0, 1, 2, 0, 1, 2}, {2, 3});
  batch.sample_ids = Tensor::from(std::vector<int64_t>{6, 3}, {2});
  return batch;
}

struct Embedded {
  Tensor rows, table, positions, gradient;
};

Embedded embedded(double token_scale, Positions positions) {
  const auto alone = single_rank();
  Parameters parameters(DType::f64, 0, 1);
  EmbeddingSpec spec;
  spec.vocab_size = 5, spec.width = 4, spec.context = 3, spec.positions = positions;
  spec.deviation = 1;
  spec.token_scale = token_scale;
  spec.sinusoids = kernels::Sinusoid::pairs;
  const Embedding embedding(parameters, spec, 0);
  parameters.allocate(true);
  parameters.initialize(3);
  const data::Batch batch = some_batch();
  Pass pass;
  pass.tp = alone.get();
  pass.batch = &batch;
  const Var x = embedding(pass);
  const Tensor rows = x.value().clone();
  backward(x, test::random_tensor(x.shape(), 9));
  const Parameter* learned = parameters.find("embedding.positions.weight");
  const Parameter& table = *parameters.find("embedding.tokens.weight");
  return {rows, table.value, learned ? learned->value : Tensor(), table.gradient};
}

// Tokens alone are multiplied, before positions are added.
TEST(ScaledEmbeddings, AreThoseOfAScaledTable) {
  const Embedded found = embedded(2, Positions::learned), plain = embedded(1, Positions::learned);
  const data::Batch batch = some_batch();
  for (int64_t i = 0; i < found.rows.size(); ++i) {
    const int64_t token = batch.tokens.data<int32_t>()[i / 4],
                  place = batch.positions.data<int32_t>()[i / 4];
    EXPECT_DOUBLE_EQ(found.rows.data<double>()[i],
                     2 * found.table.data<double>()[token * 4 + i % 4] +
                         found.positions.data<double>()[place * 4 + i % 4]);
  }
  for (int64_t i = 0; i < found.gradient.size(); ++i)
    EXPECT_EQ(found.gradient.data<double>()[i], 2 * plain.gradient.data<double>()[i]);
}

TEST(ScaledEmbeddings, HaveSinusoidsInTheAskedLayout) {
  const Embedded found = embedded(1, Positions::sinusoidal);
  const double* row = found.rows.data<double>() + 4;  // of token 4 in place 1
  const double* token = found.table.data<double>() + 16;
  EXPECT_NEAR(row[0] - token[0], std::sin(1), 1e-15);
  EXPECT_NEAR(row[1] - token[1], std::cos(1), 1e-15);
  EXPECT_NEAR(row[2] - token[2], std::sin(0.01), 1e-15);
  EXPECT_NEAR(row[3] - token[3], std::cos(0.01), 1e-15);
}

TEST(AttentionLayer, QueriesMayStartOtherwise) {
  for (double deviation : {-1.0, 0.0, 0.25}) {
    Parameters parameters(DType::f64, 0, 1);
    AttentionSpec spec{"a", 0, 8, 2, 2, 6};
    spec.in_deviation = 0.5;
    spec.query_deviation = deviation;
    const Attention attention(parameters, spec);
    EXPECT_EQ(parameters.find("a.q.weight")->start.deviation, deviation < 0 ? 0.5 : deviation);
    EXPECT_EQ(parameters.find("a.k.weight")->start.deviation, 0.5);
    EXPECT_EQ(parameters.find("a.v.weight")->start.deviation, 0.5);
    EXPECT_EQ(parameters.find("a.out.weight")->shape, (Shape{8, 12}))
        << "heads need not be as wide together as the model";
  }
}

TEST(ParameterSet, KeepsConstantsAsTheyAre) {
  Parameters parameters(DType::f32, 0, 1);
  parameters.enter("head", 0);
  parameters.add({"head.weight", {5, 3}, Split::vocab});
  parameters.enter("head.bias", 0);
  parameters.add({.name = "head.bias", .shape = {5}, .split = Split::vocab, .constant = true});
  parameters.freeze([](const Parameter&) { return false; });
  parameters.allocate(true);
  const Parameter& bias = *parameters.find("head.bias");
  EXPECT_FALSE(bias.learns);
  EXPECT_FALSE(bias.gradient.defined());
  EXPECT_EQ(bias.value.size(), 5);
  EXPECT_TRUE(parameters.find("head.weight")->learns);
  EXPECT_EQ(learned_numbers(parameters), 15);
}

// All weights are 1, so that an output is the sum of what is left of the hidden numbers.
TEST(MlpLayer, DropsWhatEntersItsLastProduct) {
  constexpr int64_t kHidden = 40;
  const auto alone = single_rank();
  const data::Batch batch = some_batch();
  Pass pass;
  pass.tp = alone.get();
  pass.batch = &batch;
  pass.seed = 5;
  for (MlpKind kind : {MlpKind::relu, MlpKind::reglu}) {
    Parameters parameters(DType::f64, 0, 1);
    MlpSpec spec{"mlp", 1, kHidden, kind, false};
    spec.dropout = 0.5, spec.block = 2, spec.dropout_site = -1;
    const Mlp mlp(parameters, spec);
    parameters.allocate(false);
    for (const Parameter& p : parameters.all()) std::ranges::fill(p.value.span<double>(), 1);
    const Var x(Tensor::from(std::vector<double>(6, 1), {2, 3, 1}));
    pass.train = false;
    for (double y : mlp(x, pass).value().span<double>()) EXPECT_EQ(y, kHidden);
    pass.train = true;
    const Tensor found = mlp(x, pass).value();
    for (uint64_t i = 0; i < 6; ++i) {
      const auto sample = static_cast<uint64_t>(batch.sample_ids.data<int64_t>()[i / 3]);
      double wanted = 0;
      for (uint64_t c = 0; c < kHidden; ++c) {
        const uint64_t draw = i % 3 * kHidden + c;
        wanted += philox(pass.dropout_key(2, -1), sample, draw / 4)[draw % 4] < (1u << 31) ? 0 : 2;
      }
      EXPECT_EQ(found.data<double>()[i], wanted) << i;
    }
  }
}

TEST(DistanceBiasLayer, DividesHeadsOverRanks) {
  const DistanceBiasSpec spec{"bias", 4, {8, 12, true}, 1};
  Parameters parameters(DType::f64, 0, 1);
  const DistanceBias whole(parameters, spec);
  parameters.allocate(false);
  parameters.initialize(7);
  const Tensor expected = whole(2, 3, 5).value();
  ASSERT_EQ(expected.shape(), (Shape{2, 4, 7}));
  for (int rank : {0, 1}) {
    Parameters own(DType::f64, rank, 2);
    const DistanceBias part(own, spec);
    own.allocate(false);
    own.initialize(7);
    const Tensor found = part(2, 3, 5).value();
    ASSERT_EQ(found.shape(), (Shape{2, 2, 7}));
    for (int64_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found.data<double>()[i], expected.data<double>()[i / 14 * 28 + rank * 14 + i % 14]);
  }
}

}  // namespace
}  // namespace skein
