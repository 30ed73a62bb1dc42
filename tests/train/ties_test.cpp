// A tensor that is used three times: wherever the uses are, all stages learn the same bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <mutex>

#include "skein/comm/local.h"
#include "skein/train/optim/sharded_optimizer.h"

#include "support/gradient_check.h"

namespace skein::train {
namespace {

using test::bytes_of;
using test::random_tensor;

constexpr int kUses = 3;
const Shape kShape{60, 30};

// By use, the stage where it is.
using Placement = std::array<int, kUses>;
const Placement kPlacements[] = {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1}, {1, 0, 0},
                                 {1, 0, 1}, {1, 1, 0}, {0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

// Of a use on a data-parallel rank: numbers whose sum depends on its order.
Tensor gradient_of(int use, int data_rank) {
  return random_tensor(kShape, static_cast<uint64_t>(10 * use + data_rank), DType::f32,
                       std::pow(30, use % 3));
}

// The sum of the uses' gradients in that order, each summed over the data-parallel ranks.
std::vector<float> summed(const std::array<int, kUses>& order, int data_ranks) {
  std::vector<float> sums(static_cast<size_t>(kShape.size()));
  for (int use : order) {
    const Tensor first = gradient_of(use, 0), second = gradient_of(use, 1);
    for (size_t i = 0; i < sums.size(); ++i) {
      float own = first.data<float>()[i];
      if (data_ranks > 1) own += second.data<float>()[i];
      sums[i] = use == order[0] ? own : sums[i] + own;
    }
  }
  return sums;
}

std::string name_of_use(int use) { return use == 1 ? "table" : fmt::format("use{}", use); }

// What one stage holds; reversed: it has made its later uses first.
void add_uses(Parameters& parameters, const Placement& placement, int stage, bool reversed) {
  for (int i = 0; i < kUses; ++i) {
    const int use = reversed ? kUses - i : i + 1;
    if (placement[static_cast<size_t>(use) - 1] != stage) continue;
    ParameterSpec spec{name_of_use(use), kShape, Split::none, {Start::normal, 1.0}};
    if (use > 1) spec.tied_to = "table", spec.use = use;
    parameters.enter(name_of_use(use), 0);
    parameters.add(spec);
  }
}

struct Learnt {
  double square_sum = 0;
  std::vector<std::byte> values;
};

class Ties : public testing::TestWithParam<std::tuple<int, bool, bool>> {
 protected:
  // The same on every rank, or it fails.
  Learnt learnt(const Placement& placement) {
    const auto [data_ranks, zero, reversed] = GetParam();
    const int stages = *std::max_element(placement.begin(), placement.end()) + 1;
    const std::vector<float> expected = summed({1, 2, 3}, data_ranks);
    Learnt all;
    std::mutex one;
    run_ranks(stages * data_ranks,
              [&, data_ranks = data_ranks, zero = zero, reversed = reversed](Group& world) {
                Mesh mesh(world, {stages, data_ranks, 1});
                Parameters parameters(DType::f32, 0, 1);
                add_uses(parameters, placement, mesh.stage(), reversed);
                Buckets buckets(parameters, mesh, {1});
                parameters.initialize(4);
                ShardedOptimizer optimizer(make_optimizer({}), {}, buckets, zero);
                for (int step = 0; step < 2; ++step) {
                  buckets.begin_step(1);
                  for (Parameter& p : parameters.all())
                    p.gradient.copy_from(gradient_of(p.use, mesh.dp().rank()));
                  buckets.finish(!zero);
                  expect_sums(buckets, expected);
                  const double sum = *buckets.gradient_square_sum().data<double>();
                  optimizer.step(0.1);
                  const std::lock_guard hold(one);
                  if (all.square_sum == 0) all.square_sum = sum;
                  EXPECT_EQ(sum, all.square_sum);
                }
                const std::lock_guard hold(one);
                for (const Parameter& p : parameters.all()) {
                  if (all.values.empty()) all.values = bytes_of(p.value);
                  EXPECT_EQ(bytes_of(p.value), all.values);
                }
                for (const checkpoint::Piece& piece : optimizer.pieces(true)) {
                  EXPECT_EQ(piece.name.substr(piece.name.find('/')), "/table");
                  saved_ += piece.end - piece.begin;
                }
              });
    return all;
  }

  // The own slice of what has the values.
  static void expect_sums(const Buckets& buckets, const std::vector<float>& expected) {
    int homes = 0;
    for (const auto& bucket : buckets.all()) {
      if (bucket.alias) continue;
      ++homes;
      const int64_t end = std::min(buckets.own_begin(bucket) + buckets.own_size(bucket),
                                   bucket.members.front().valid);
      for (int64_t i = buckets.own_begin(bucket); i < end; ++i)
        ASSERT_EQ(bucket.gradients.data<float>()[i], expected[static_cast<size_t>(i)]) << i;
    }
    EXPECT_EQ(homes, 1);
  }

  int64_t saved_ = 0;  // elements
};

TEST_P(Ties, OfThreeUsesOverAnyStagesGiveEqualBits) {
  const Learnt expected = learnt({0, 0, 0});
  EXPECT_GT(expected.square_sum, 0);
  for (const Placement& placement : kPlacements) {
    saved_ = 0;
    const Learnt found = learnt(placement);
    EXPECT_EQ(found.square_sum, expected.square_sum);
    EXPECT_EQ(found.values, expected.values);
    EXPECT_EQ(saved_, 3 * kShape.size()) << "value and moments of each element once";
  }
}

INSTANTIATE_TEST_SUITE_P(All, Ties,
                         testing::Combine(testing::Values(1, 2), testing::Bool(), testing::Bool()));

TEST(TieUses, TheseNumbersWouldShowAnotherOrder) {
  const auto asked = summed({1, 2, 3}, 1);
  EXPECT_NE(summed({2, 3, 1}, 1), asked);
  EXPECT_NE(summed({3, 1, 2}, 1), asked);
}

TEST(TieUses, UsesMustBeNumberedOneAfterTheOther) {
  run_ranks(1, [](Group& world) {
    Mesh mesh(world, {});
    Parameters parameters(DType::f32, 0, 1);
    for (int use : {1, 3}) {
      parameters.enter(name_of_use(use), 0);
      ParameterSpec spec{name_of_use(use), kShape};
      if (use > 1) spec.tied_to = "table", spec.use = use;
      parameters.add(spec);
    }
    try {
      Buckets buckets(parameters, mesh, {1});
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::internal);
      EXPECT_STREQ(error.what(), "use 2 of 2 of table is declared as number 3");
    }
  });
}

}  // namespace
}  // namespace skein::train
