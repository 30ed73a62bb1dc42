// Self-attention of rows of several segments: each is seen as if it stood alone.
#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/nn/attention.h"

#include "nn/small_blocks.h"

namespace skein {
namespace {

constexpr int64_t kWide = 6;

AttentionSpec looking(const SightSpec& sight, bool causal) {
  AttentionSpec made;
  made.name = "attention";
  made.block = 1;
  made.width = kWide;
  made.heads = made.kv_heads = 2;
  made.head_width = 3;
  made.in_deviation = made.out_deviation = 0.5;
  made.sight = sight;
  made.causal = causal;
  return made;
}

struct Looked {
  std::unique_ptr<Group> alone = single_rank();
  Parameters parameters{DType::f64, 0, 1};
  Attention attention;

  Looked(const SightSpec& sight, bool causal) : attention(parameters, looking(sight, causal)) {
    test::initialize_all(parameters, true);
  }
  // x [rows, tokens, kWide], of segments of these lengths in turn; below 0: padding.
  Tensor at(const Tensor& x, const std::vector<int64_t>& lengths) const {
    const Shape shape{x.dim(0), x.dim(1)};
    std::vector<int32_t> segments;
    for (int32_t number = 0; const int64_t length : lengths)
      segments.insert(segments.end(), static_cast<size_t>(std::abs(length)),
                      length < 0 ? -1 : number++);
    data::Batch batch;
    batch.tokens = batch.positions = Tensor::zeros(shape, DType::i32);
    batch.segments = Tensor::from(segments, shape);
    Pass pass;
    pass.tp = alone.get();
    pass.batch = &batch;
    return attention(Var(x), {}, pass).value();
  }
};

std::vector<double> values_in(const Tensor& x, int64_t first, int64_t tokens) {
  const double* from = x.data<double>() + first * kWide;
  return {from, from + tokens * kWide};
}

const std::vector<SightSpec>& sights() {
  static const std::vector<SightSpec> made{
      {.kind = SightKind::window, .window = 4},
      {.kind = SightKind::global, .window = 2, .marks = {.first = 2, .every = 5}},
      {.kind = SightKind::bigbird, .block = 2, .random = 1},
      {.kind = SightKind::bigbird, .block = 2, .random = 1, .drawn = false},
      {.kind = SightKind::fixed, .block = 2, .stretch = 2},
      {.kind = SightKind::lsh, .window = 4, .sides = {2}}};
  return made;
}

// Of a row of three segments and padding, above a row of one segment and padding.
TEST(Segments, AreSeenAsIfEachStoodAlone) {
  const std::vector<int64_t> lengths{5, 21, 18};
  const Tensor x = test::random_tensor({2, 48, kWide}, 3);
  for (const SightSpec& sight : sights())
    for (const bool causal : {true, false}) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(sight.kind) << causal);
      const Looked layer(sight, causal);
      const Tensor both = layer.at(x, {5, 21, 18, -4, 30, -18});
      for (int64_t first = 0; const int64_t length : lengths) {
        const Tensor own = x.flat(first * kWide, length * kWide).reshape({1, length, kWide});
        const auto wanted = values_in(layer.at(own, {length}), 0, length),
                   found = values_in(both, first, length);
        for (size_t i = 0; i < wanted.size(); ++i)
          ASSERT_NEAR(found[i], wanted[i], 1e-12) << "from " << first << " element " << i;
        first += length;
      }
      EXPECT_EQ(values_in(both, 48, 30), values_in(layer.at(x.rows(1, 2), {30, -18}), 0, 30))
          << "bits of one segment do not know of other rows";
      const Tensor own = x.flat(48 * kWide, 30 * kWide).reshape({1, 30, kWide});
      EXPECT_EQ(values_in(both, 48, 30), values_in(layer.at(own, {30}), 0, 30))
          << "nor of padding behind it";
    }
}

}  // namespace
}  // namespace skein
