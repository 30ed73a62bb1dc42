// Causal attention over a prefix against a mask made by hand, and its gradients.
#include <numeric>

#include "skein/comm/local.h"
#include "skein/nn/attention.h"

#include "nn/small_blocks.h"

namespace skein {
namespace {

constexpr int64_t kPrefixes = 3, kPositions = 6, kChannels = 8, kHeadCount = 2, kHeadWidth = 4;

struct PrefixLayer {
  std::unique_ptr<Group> alone = single_rank();
  Parameters parameters{DType::f64, 0, 1};
  std::unique_ptr<Attention> attention;
  data::Batch batch;

  explicit PrefixLayer(bool causal) {
    AttentionSpec spec;
    spec.name = "attention";
    spec.width = kChannels;
    spec.heads = spec.kv_heads = kHeadCount;
    spec.head_width = kHeadWidth;
    spec.in_deviation = spec.out_deviation = 0.5;
    spec.bias = false;
    spec.causal = causal;
    attention = std::make_unique<Attention>(parameters, spec);
    test::initialize_all(parameters, true);
    batch.tokens = Tensor::zeros({kPrefixes, kPositions}, DType::i32);
    batch.prefix = Tensor::from(std::vector<int32_t>{1, 4, 6}, {kPrefixes});
  }
  Var operator()(const Var& x) const {
    Pass pass;
    pass.tp = alone.get();
    pass.batch = &batch;
    return (*attention)(x, {}, pass);
  }
  // Row `row` of x times the layer's product `name`.
  std::vector<double> product(const std::string& name, const double* x) {
    const Tensor weight = parameters.find("attention." + name + ".weight")->value;
    std::vector<double> made(static_cast<size_t>(weight.dim(0)), 0.0);
    for (int64_t o = 0; o < weight.dim(0); ++o)
      for (int64_t i = 0; i < weight.dim(1); ++i)
        made[static_cast<size_t>(o)] += weight.data<double>()[o * weight.dim(1) + i] * x[i];
    return made;
  }
};

// sees[b][t][s], row by row.
using Mask = std::function<bool(int64_t b, int64_t t, int64_t s)>;

std::vector<double> head_by_hand(PrefixLayer& layer, const double* x, int64_t b, int64_t t,
                                 const Mask& sees, int64_t head) {
  const auto part = [&](const char* name, int64_t place) {
    const auto all = layer.product(name, x + (b * kPositions + place) * kChannels);
    return std::vector<double>(all.begin() + head * kHeadWidth,
                               all.begin() + (head + 1) * kHeadWidth);
  };
  const auto q = part("q", t);
  std::vector<double> sums(kHeadWidth, 0.0);
  double total = 0;
  for (int64_t s = 0; s < kPositions; ++s) {
    if (!sees(b, t, s)) continue;
    const auto k = part("k", s), v = part("v", s);
    const double weight = std::exp(std::inner_product(q.begin(), q.end(), k.begin(), 0.0) / 2);
    total += weight;
    for (size_t d = 0; d < kHeadWidth; ++d) sums[d] += weight * v[d];
  }
  for (double& sum : sums) sum /= total;
  return sums;
}

void expect_by_hand(PrefixLayer& layer, const Mask& sees) {
  const Tensor x = test::random_tensor({kPrefixes, kPositions, kChannels}, 1);
  const Tensor found = layer(Var(x)).value();
  for (int64_t b = 0; b < kPrefixes; ++b)
    for (int64_t t = 0; t < kPositions; ++t) {
      std::vector<double> all;
      for (int64_t head = 0; head < kHeadCount; ++head)
        for (double number : head_by_hand(layer, x.data<double>(), b, t, sees, head))
          all.push_back(number);
      const auto wanted = layer.product("out", all.data());
      for (int64_t c = 0; c < kChannels; ++c)
        EXPECT_NEAR(found.data<double>()[(b * kPositions + t) * kChannels + c],
                    wanted[static_cast<size_t>(c)], 1e-12)
            << b << " " << t << " " << c;
    }
}

TEST(PrefixAttention, SeesThePrefixInBothDirections) {
  PrefixLayer layer(true);
  const int64_t prefix[] = {1, 4, 6};
  expect_by_hand(layer, [&](int64_t b, int64_t t, int64_t s) { return s <= t || s < prefix[b]; });
}

TEST(PrefixAttention, StaysInsideDocuments) {
  PrefixLayer layer(true);
  layer.batch.segments = Tensor::from(
      std::vector<int32_t>{0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 2, 2}, {3, kPositions});
  const Tensor segments = layer.batch.segments;
  const int64_t prefix[] = {1, 4, 6};
  expect_by_hand(layer, [&](int64_t b, int64_t t, int64_t s) {
    const int32_t* of = segments.data<int32_t>() + b * kPositions;
    return of[t] == of[s] && (s <= t || s < prefix[b]);
  });
}

// Attention that sees everything has no use for it.
TEST(PrefixAttention, IsForCausalAttentionAlone) {
  PrefixLayer layer(false);
  expect_by_hand(layer, [](int64_t, int64_t, int64_t) { return true; });
}

TEST(PrefixAttention, HasAGradient) {
  PrefixLayer layer(true);
  const Tensor x = test::random_tensor({kPrefixes, kPositions, kChannels}, 2),
               upstream = test::random_tensor({kPrefixes, kPositions, kChannels}, 3);
  const auto loss = [&] {
    const NoGrad no_grad;
    const Tensor y = layer(Var(x)).value();
    double sum = 0;
    for (int64_t i = 0; i < y.size(); ++i) sum += y.data<double>()[i] * upstream.data<double>()[i];
    return sum;
  };
  backward(layer(Var(x)), upstream);
  for (const Parameter& p : layer.parameters.all())
    test::compare_with_differences(p.value, p.gradient, loss, 1e-6, p.name, 5);
}

}  // namespace
}  // namespace skein
