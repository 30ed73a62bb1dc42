// Attention to another sequence: its definition, its gradients, and the segments of both sides.
#include "skein/nn/attention.h"

#include "skein/comm/local.h"

#include "nn/plain_product.h"
#include "nn/small_blocks.h"

namespace skein {
namespace {

constexpr int64_t kQueries = 3, kKeys = 4, kInputs = 6, kMemory = 5, kHeads = 4, kGroups = 2,
                  kHead = 3;

AttentionSpec spec_of(double dropout) {
  AttentionSpec made;
  made.name = "attention";
  made.block = 2;
  made.width = kInputs;
  made.heads = kHeads;
  made.kv_heads = kGroups;
  made.head_width = kHead;
  made.dropout = dropout;
  made.in_deviation = made.out_deviation = 0.5;
  made.memory_width = kMemory;
  made.dropout_site = -1;
  return made;
}

data::Batch batch_of(const Tensor& segments, const Tensor& source_segments) {
  data::Batch batch;
  batch.tokens = Tensor::zeros({2, kQueries}, DType::i32);
  batch.segments = segments;
  batch.source.tokens = Tensor::zeros({2, kKeys}, DType::i32);
  batch.source.segments = source_segments;
  batch.sample_ids = Tensor::from(std::vector<int64_t>{6, 3}, {2});
  return batch;
}

struct Layer {
  std::unique_ptr<Group> alone = single_rank();
  Parameters parameters{DType::f64, 0, 1};
  Attention attention;
  data::Batch batch;

  Layer(const data::Batch& of, double dropout)
      : attention(parameters, spec_of(dropout)), batch(of) {
    test::initialize_all(parameters, true);
  }
  Var operator()(const Var& x, const Var& memory) const {
    Pass pass;
    pass.tp = alone.get();
    pass.train = true;
    pass.seed = 4;
    pass.batch = &batch;
    return attention(x, {memory, {}}, pass);
  }
  // x [rows, inputs] through the layer's product `name`, [rows, outputs].
  std::vector<double> product(const std::string& name, const std::vector<double>& x) {
    const Tensor weight = parameters.find("attention." + name + ".weight")->value,
                 bias = parameters.find("attention." + name + ".bias")->value;
    return test::plain_product(x, weight, bias);
  }
};

std::vector<double> values_of(const Tensor& x) {
  return {x.data<double>(), x.data<double>() + x.size()};
}

// By the definition, with whole rows of scores.
std::vector<double> expected(Layer& layer, const Tensor& x, const Tensor& memory,
                             const std::function<bool(int64_t b, int64_t t, int64_t s)>& sees) {
  const auto q = layer.product("q", values_of(x)), k = layer.product("k", values_of(memory)),
             v = layer.product("v", values_of(memory));
  std::vector<double> made;
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < kQueries; ++t)
      for (int64_t h = 0; h < kHeads; ++h) {
        std::vector<double> sums(kHead, 0.0);
        double total = 0;
        for (int64_t s = 0; s < kKeys; ++s) {
          const double* query = &q[static_cast<size_t>(((b * kQueries + t) * kHeads + h) * kHead)];
          const size_t at = static_cast<size_t>(((b * kKeys + s) * kGroups + h / 2) * kHead);
          double score = 0;
          for (size_t d = 0; d < kHead; ++d) score += query[d] * k[at + d];
          const double weight = sees(b, t, s) ? std::exp(score / std::sqrt(double{kHead})) : 0;
          total += weight;
          for (size_t d = 0; d < kHead; ++d) sums[d] += weight * v[at + d];
        }
        for (double sum : sums) made.push_back(total > 0 ? sum / total : 0);
      }
  return layer.product("out", made);
}

void expect_near(const Tensor& found, const std::vector<double>& wanted) {
  ASSERT_EQ(found.size(), static_cast<int64_t>(wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found.data<double>()[i], wanted[i], 1e-12) << i;
}

const Tensor& some_x() {
  static const Tensor x = test::random_tensor({2, kQueries, kInputs}, 1);
  return x;
}
const Tensor& some_memory() {
  static const Tensor memory = test::random_tensor({2, kKeys, kMemory}, 2);
  return memory;
}

TEST(AttentionToMemory, SeesAllOfItWhereNothingIsSaid) {
  Layer layer(batch_of({}, {}), 0);
  expect_near(layer(Var(some_x()), Var(some_memory())).value(),
              expected(layer, some_x(), some_memory(), [](auto...) { return true; }));
}

TEST(AttentionToMemory, StaysInsideSegmentsOfBothSides) {
  const std::vector<int32_t> here{0, 0, 1, 2, 1, 1}, there{0, 1, 1, -1, 0, 0, 1, -1};
  Layer layer(batch_of(test::two_rows(here), test::two_rows(there)), 0);
  expect_near(layer(Var(some_x()), Var(some_memory())).value(),
              expected(layer, some_x(), some_memory(), [&](int64_t b, int64_t t, int64_t s) {
                return here[static_cast<size_t>(b * kQueries + t)] ==
                       there[static_cast<size_t>(b * kKeys + s)];
              }));
}

TEST(AttentionToMemory, LeavesPaddingOutWhereOnlyOneSideHasSome) {
  const std::vector<int32_t> there{0, 0, 0, -1, 0, 0, -1, -1};
  Layer layer(batch_of({}, test::two_rows(there)), 0);
  expect_near(layer(Var(some_x()), Var(some_memory())).value(),
              expected(layer, some_x(), some_memory(), [&](int64_t b, int64_t, int64_t s) {
                return there[static_cast<size_t>(b * kKeys + s)] == 0;
              }));
}

TEST(AttentionToMemory, HasTheGradientsOfItsDifferences) {
  for (double dropout : {0.0, 0.3}) {
    Layer layer(
        batch_of(test::two_rows({0, 0, 1, 2, 1, 1}), test::two_rows({0, 1, 1, -1, 0, 0, 1, -1})),
        dropout);
    const Var x = Var::leaf(some_x().clone()), memory = Var::leaf(some_memory().clone());
    const Tensor upstream = test::random_tensor({2, kQueries, kInputs}, 9);
    backward(layer(x, memory), upstream.clone());
    const auto loss = [&] {
      const NoGrad no_grad;
      const Tensor y = layer(x, memory).value();
      double sum = 0;
      for (int64_t i = 0; i < y.size(); ++i)
        sum += y.data<double>()[i] * upstream.data<double>()[i];
      return sum;
    };
    test::compare_with_differences(x.value(), x.gradient(), loss, 1e-7, "x");
    test::compare_with_differences(memory.value(), memory.gradient(), loss, 1e-7, "memory");
    for (const Parameter& p : layer.parameters.all())
      test::compare_with_differences(p.value, p.gradient, loss, 1e-7, p.name);
  }
}

TEST(AttentionToMemory, IsRefusedWithoutAnyAndWithWindowsOrRotations) {
  Layer layer(batch_of({}, {}), 0);
  EXPECT_THROW(layer(Var(some_x()), {}), Error);
  Parameters parameters(DType::f64, 0, 1);
  AttentionSpec spec = spec_of(0);
  spec.rotary = true;
  EXPECT_THROW(Attention(parameters, spec), Error);
  spec.rotary = false;
  spec.sight = {.kind = SightKind::window, .window = 3};
  EXPECT_THROW(Attention(parameters, spec), Error);
}

}  // namespace
}  // namespace skein
