// The likeliest ids on the device against the CPU's of the same logits.
#include "skein/kernels/likeliest.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "skein/core/philox.h"

#include "support/kernel_home.h"

namespace skein {
namespace {

using test::kHome;

constexpr float kExcluded = -std::numeric_limits<float>::infinity();

Tensor random_logits(int64_t rows, int64_t columns, uint64_t key) {
  const Tensor made = Tensor::empty({rows, columns}, DType::f32);
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<float>()[i] = 3 * normal_at(key, 1, static_cast<uint64_t>(i));
  return made;
}

template <class T>
std::vector<T> values(const Tensor& x) {
  const Tensor here = x.to(Device{});
  return {here.data<T>(), here.data<T>() + here.size()};
}

struct Found {
  std::vector<int32_t> columns;
  std::vector<float> logits;
  bool operator==(const Found&) const = default;
};

template <class Tag>
Found found_on(Tag tag, Device home, const Tensor& logits, int64_t valid, int64_t count) {
  const Tensor columns = Tensor::empty({logits.dim(0), count}, DType::i32, home),
               best = Tensor::empty({logits.dim(0), count}, DType::f32, home);
  kernels::likeliest(tag, logits.to(home), valid, Out(columns), Out(best));
  return {values<int32_t>(columns), values<float>(best)};
}

TEST(LikeliestOnCuda, AreThoseOfTheCpu) {
  for (int64_t columns : {1, 7, 257, 3000})
    for (int64_t count : {int64_t{1}, int64_t{8}, std::min<int64_t>(columns + 3, 20)}) {
      const Tensor logits = random_logits(3, columns, static_cast<uint64_t>(columns));
      for (int64_t valid : {columns, (columns + 1) / 2})
        EXPECT_EQ(found_on(Cuda{}, kHome, logits, valid, count),
                  found_on(Cpu{}, Device{}, logits, valid, count))
            << columns << " " << valid;
      for (float& logit : logits.span<float>()) logit = logit < -1 ? kExcluded : std::round(logit);
      EXPECT_EQ(found_on(Cuda{}, kHome, logits, columns, count),
                found_on(Cpu{}, Device{}, logits, columns, count))
          << columns;
    }
}

template <class Tag>
std::vector<int64_t> weights_on(Tag tag, Device home, const Tensor& logits, int64_t valid,
                                double units) {
  const int64_t rows = logits.dim(0);
  const Tensor maximum = Tensor::from(std::vector<float>(static_cast<size_t>(rows), 15), {rows}),
               made = Tensor::empty({rows}, DType::i64, home);
  kernels::row_weights(tag, logits.to(home), valid, maximum.to(home), units, Out(made));
  return values<int64_t>(made);
}

// Exponentials differ by their last places.
TEST(LikeliestOnCuda, WeighAsMuchAsOnTheCpu) {
  for (int64_t columns : {1, 7, 257, 3000}) {
    Tensor logits = random_logits(4, columns, 5);
    logits.data<float>()[columns / 2] = kExcluded;
    const double units = kernels::exponential_units(columns);
    for (int64_t valid : {columns, (columns + 1) / 2}) {
      const auto there = weights_on(Cuda{}, kHome, logits, valid, units),
                 here = weights_on(Cpu{}, Device{}, logits, valid, units);
      for (size_t row = 0; row < here.size(); ++row)
        EXPECT_NEAR(static_cast<double>(there[row]), static_cast<double>(here[row]),
                    1e-14 * static_cast<double>(here[row]) + static_cast<double>(columns));
    }
  }
  const Tensor logits = random_logits(2, 50, 7);
  logits.data<float>()[81] = logits.data<float>()[99] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(weights_on(Cuda{}, kHome, logits, 50, 0x1p50)[1], -32);
  EXPECT_GT(weights_on(Cuda{}, kHome, logits, 31, 0x1p50)[1], 0);
}

TEST(LikeliestOnCuda, AreNotAmongTheForbidden) {
  const Tensor logits = random_logits(300, 4, 9), there = logits.to(kHome);
  std::vector<int64_t> places;
  for (int64_t row = 0; row < 300; ++row) places.push_back(4 * row + row % 4);
  const Tensor list = Tensor::from(places, {300});
  kernels::forbid(Cuda{}, list.to(kHome), Out(there));
  kernels::forbid(Cpu{}, list, Out(logits));
  EXPECT_EQ(values<float>(there), values<float>(logits));
}

}  // namespace
}  // namespace skein
