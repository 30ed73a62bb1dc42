// The likeliest ids of rows, and the whole numbers of which probabilities are made.
#include "skein/kernels/likeliest.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "skein/core/philox.h"
#include "skein/kernels/threads.h"

namespace skein::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor random_logits(int64_t rows, int64_t columns, float spread, uint64_t key) {
  const Tensor made = Tensor::empty({rows, columns}, DType::f32);
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<float>()[i] = spread * normal_at(key, 1, static_cast<uint64_t>(i));
  return made;
}

struct Found {
  std::vector<int32_t> columns;
  std::vector<float> logits;
  bool operator==(const Found&) const = default;
};

Found found(const Tensor& logits, int64_t valid, int64_t count) {
  const Tensor columns = Tensor::empty({logits.dim(0), count}, DType::i32),
               best = Tensor::empty({logits.dim(0), count}, DType::f32);
  likeliest(Cpu{}, logits, valid, Out(columns), Out(best));
  const auto ids = columns.span<int32_t>();
  const auto values = best.span<float>();
  return {{ids.begin(), ids.end()}, {values.begin(), values.end()}};
}

Found sorted(const Tensor& logits, int64_t valid, int64_t count) {
  Found made;
  for (int64_t row = 0; row < logits.dim(0); ++row) {
    const float* from = logits.data<float>() + row * logits.dim(1);
    std::vector<int32_t> ids(static_cast<size_t>(valid));
    std::iota(ids.begin(), ids.end(), 0);
    std::stable_sort(ids.begin(), ids.end(),
                     [&](int32_t a, int32_t b) { return from[a] > from[b]; });
    std::erase_if(ids, [&](int32_t id) { return from[id] == -kInfinity; });
    ids.resize(static_cast<size_t>(count), -1);
    for (int32_t id : ids) {
      made.columns.push_back(id);
      made.logits.push_back(id < 0 ? -kInfinity : from[id]);
    }
  }
  return made;
}

TEST(Likeliest, AreThoseOfASort) {
  for (int64_t columns : {1, 7, 256, 257, 3000})
    for (int64_t count : {int64_t{1}, int64_t{2}, int64_t{10}, columns + 3}) {
      Tensor logits = random_logits(5, columns, 3, static_cast<uint64_t>(columns));
      EXPECT_EQ(found(logits, columns, count), sorted(logits, columns, count)) << columns;
      const int64_t half = (columns + 1) / 2;
      EXPECT_EQ(found(logits, half, count), sorted(logits, half, count)) << columns;
      for (float& logit : logits.span<float>())  // many are equal, and many impossible
        logit = logit < -1 ? -kInfinity : std::round(logit);
      EXPECT_EQ(found(logits, columns, count), sorted(logits, columns, count)) << columns;
    }
}

TEST(Likeliest, LeaveOutWhatIsForbidden) {
  const Tensor logits = random_logits(2, 9, 1, 3);
  const Found before = found(logits, 9, 3);
  forbid(Cpu{}, Tensor::from(std::vector<int64_t>{before.columns[0], 9 + before.columns[4]}, {2}),
         Out(logits));
  const Found after = found(logits, 9, 2);
  EXPECT_EQ(after.columns, (std::vector<int32_t>{before.columns[1], before.columns[2],
                                                 before.columns[3], before.columns[5]}));
}

std::vector<int64_t> weights_of(const Tensor& logits, int64_t valid, float top, double units) {
  const Tensor maximum = Tensor::from(std::vector<float>(static_cast<size_t>(logits.dim(0)), top),
                                      {logits.dim(0)}),
               made = Tensor::empty({logits.dim(0)}, DType::i64);
  row_weights(Cpu{}, logits, valid, maximum, units, Out(made));
  return {made.data<int64_t>(), made.data<int64_t>() + made.size()};
}

// Each is rounded by half a unit at most; a different order, or parts of a row, change nothing.
TEST(RowWeights, AreWholeNumbersThatAddUp) {
  for (int64_t columns : {1, 7, 50257}) {
    const Tensor logits = random_logits(2, columns, 4, 1);
    const double units = exponential_units(columns);
    const float top = *std::max_element(logits.span<float>().begin(), logits.span<float>().end());
    const auto whole = weights_of(logits, columns, top, units);
    for (int64_t row = 0; row < 2; ++row) {
      long double sum = 0;
      for (int64_t c = 0; c < columns; ++c)
        sum += std::exp(static_cast<long double>(logits.data<float>()[row * columns + c]) - top);
      EXPECT_NEAR(static_cast<double>(whole[static_cast<size_t>(row)]) / units,
                  static_cast<double>(sum), static_cast<double>(columns) / units + 1e-14 * sum);
      const int64_t part = columns / 3;
      const Tensor one = logits.flat(row * columns, columns).reshape({1, columns});
      int64_t parts = weights_of(one, part, top, units)[0];
      const Tensor rest = logits.flat(row * columns + part, columns - part);
      parts += weights_of(rest.reshape({1, columns - part}), columns - part, top, units)[0];
      EXPECT_EQ(parts, whole[static_cast<size_t>(row)]) << columns;
      std::reverse(one.span<float>().begin(), one.span<float>().end());
      EXPECT_EQ(weights_of(one, columns, top, units)[0], whole[static_cast<size_t>(row)]);
    }
  }
}

TEST(RowWeights, FitWhateverTheNumberOfIds) {
  for (int64_t ids : {int64_t{1}, int64_t{2048}, int64_t{2049}, int64_t{50257}, int64_t{1} << 40})
    EXPECT_LE(exponential_units(ids) * static_cast<double>(ids), 0x1p62) << ids;
  EXPECT_EQ(exponential_units(50257), 0x1p46);
  EXPECT_EQ(exponential_units(2), 0x1p51);
  const Tensor equal = Tensor::zeros({1, 2048}, DType::f32);
  EXPECT_EQ(weights_of(equal, 2048, 0, exponential_units(2048))[0], int64_t{1} << 62);
}

TEST(RowWeights, TellTheFirstThatIsNoNumber) {
  const Tensor logits = random_logits(3, 40, 1, 7);
  float* from = logits.data<float>();
  from[31] = from[33] = std::numeric_limits<float>::quiet_NaN();
  from[45] = -kInfinity;
  const auto found = weights_of(logits, 40, 9, 0x1p50);
  EXPECT_EQ(found[0], -32);
  EXPECT_GT(found[1], 0);
  const auto until = weights_of(logits, 31, 9, 0x1p50);
  EXPECT_GT(until[0], 0) << "padding is not read";
}

TEST(Likeliest, AndWeightsDoNotDependOnThreads) {
  const Tensor logits = random_logits(9, 1000, 3, 2);
  set_threads(1);
  const Found alone = found(logits, 1000, 7);
  const auto weights = weights_of(logits, 1000, 12, 0x1p50);
  set_threads(3);
  EXPECT_EQ(found(logits, 1000, 7), alone);
  EXPECT_EQ(weights_of(logits, 1000, 12, 0x1p50), weights);
  set_threads(1);
}

}  // namespace
}  // namespace skein::kernels
