// Sampling on the device against the CPU's on the same logits and draws.
#include "skein/kernels/sample.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "skein/core/philox.h"

#include "support/kernel_home.h"

namespace skein {
namespace {

using kernels::SampleArguments;
using test::kHome;

constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                kNaN = std::numeric_limits<float>::quiet_NaN();

struct Rows {
  Tensor logits;    // [B,V] f32
  Tensor uniforms;  // [B] f64
};

Rows random_rows(int64_t rows, int64_t columns, float spread, uint64_t key) {
  Rows made{Tensor::empty({rows, columns}, DType::f32), Tensor::empty({rows}, DType::f64)};
  for (int64_t i = 0; i < rows * columns; ++i)
    made.logits.data<float>()[i] = spread * normal_at(key, 1, static_cast<uint64_t>(i));
  for (int64_t r = 0; r < rows; ++r) {
    const PhiloxBlock bits = philox(key, 2, static_cast<uint64_t>(r));
    made.uniforms.data<double>()[r] = uniform_double(bits[0], bits[1]);
  }
  return made;
}

template <class Tag>
std::vector<int32_t> ids_on(Tag tag, Device home, const Rows& rows, int64_t valid,
                            const SampleArguments& arguments) {
  const Tensor ids = Tensor::zeros({rows.logits.dim(0)}, DType::i32).to(home);
  kernels::sample(tag, rows.logits.to(home), valid, arguments, rows.uniforms.to(home), Out(ids));
  const Tensor here = ids.to(Device{});
  return {here.data<int32_t>(), here.data<int32_t>() + here.size()};
}

std::vector<int32_t> on_cpu(const Rows& rows, int64_t valid, const SampleArguments& arguments) {
  return ids_on(Cpu{}, Device{}, rows, valid, arguments);
}
std::vector<int32_t> on_cuda(const Rows& rows, int64_t valid, const SampleArguments& arguments) {
  return ids_on(Cuda{}, kHome, rows, valid, arguments);
}

std::vector<SampleArguments> settings(int64_t columns, const std::vector<double>& temperatures) {
  std::vector<SampleArguments> made{{0, 0, 1}, {0, 5, 0.5}, {1, 1, 0.5}};
  for (double temperature : temperatures)
    for (int64_t top_k : {int64_t{0}, int64_t{5}, int64_t{40}, columns})
      for (double top_p : {0.1, 0.5, 0.9, 0.999, 1.0}) made.push_back({temperature, top_k, top_p});
  return made;
}

void expect_same(const Rows& rows, int64_t valid, const std::vector<SampleArguments>& cases) {
  for (const SampleArguments& c : cases)
    EXPECT_EQ(on_cuda(rows, valid, c), on_cpu(rows, valid, c))
        << valid << " ids, temperature " << c.temperature << " top_k " << c.top_k << " top_p "
        << c.top_p;
}

TEST(SampleOnCuda, TakesTheIdsOfTheCpu) {
  for (int64_t columns : {1, 7, 257, 3000}) {
    const Rows rows = random_rows(4, columns, 3, static_cast<uint64_t>(columns));
    expect_same(rows, columns, settings(columns, {0.3, 1, 20}));
    expect_same(rows, (columns + 1) / 2, {{1, 0, 1}, {0, 0, 1}, {1, 5, 0.9}});
  }
}

TEST(SampleOnCuda, OfAWholeVocabulary) {
  const int64_t columns = 50257;
  const Rows rows = random_rows(2, columns, 3, 9);
  expect_same(rows, columns,
              {{0, 0, 1},
               {1, 0, 1},
               {0.7, 40, 1},
               {1, 0, 0.9},
               {1.5, 40, 0.5},
               {5, columns, 0.1},
               {1, 1000, 0.999}});
}

TEST(SampleOnCuda, EqualLogitsGoByTheLowerId) {
  for (int64_t columns : {7, 257, 2100}) {
    Rows rows = random_rows(3, columns, 1, 4);
    for (float& logit : rows.logits.span<float>())
      logit = std::round(2 * logit) / 2 * (logit < 0.2f ? 1 : -1);
    expect_same(rows, columns, settings(columns, {0.5, 1}));
    for (float& logit : rows.logits.span<float>()) logit = 2;
    expect_same(rows, columns, settings(columns, {1}));
  }
  const Rows zeros{Tensor::from(std::vector<float>{-1, -0.0f, 0.0f, -0.0f}, {1, 4}),
                   Tensor::from(std::vector<double>{0.4}, {1})};
  expect_same(zeros, 4, settings(4, {1}));
  EXPECT_EQ(on_cuda(zeros, 4, {0, 0, 1}), std::vector<int32_t>{1});
}

TEST(SampleOnCuda, LeavesOutWhatIsImpossible) {
  Rows rows = random_rows(3, 300, 2, 5);
  for (int64_t i = 0; i < rows.logits.size(); ++i)
    if (i % 7 != 3) rows.logits.data<float>()[i] = i % 2 ? -kInfinity : -1e30f;
  expect_same(rows, 300, settings(300, {1e-3, 1, 3}));
}

TEST(SampleOnCuda, DrawsAtBothEnds) {
  Rows rows = random_rows(3, 300, 1, 6);
  rows.uniforms.data<double>()[0] = 0;
  rows.uniforms.data<double>()[1] = std::nextafter(1.0, 0.0);
  expect_same(rows, 300, {{1, 5, 1}, {1, 0, 0.5}});
  for (const SampleArguments& c : settings(300, {1}))
    for (int32_t id : on_cuda(rows, 300, c)) EXPECT_TRUE(id >= 0 && id < 300);
}

TEST(SampleOnCuda, TellsWhatIsNoNumberAndSkipsRows) {
  Rows rows = random_rows(6, 50, 1, 7);
  const auto row = [&](int64_t r) { return rows.logits.data<float>() + r * 50; };
  row(0)[31] = row(0)[40] = kNaN;
  row(1)[9] = -std::bit_cast<float>(0x7fffffffu);
  row(2)[49] = kInfinity;
  std::fill_n(row(3), 50, -kInfinity);
  row(4)[0] = kNaN;
  rows.uniforms.data<double>()[4] = -1;
  for (const SampleArguments& c : settings(50, {1})) {
    const std::vector<int32_t> found = on_cuda(rows, 50, c);
    EXPECT_EQ(found, on_cpu(rows, 50, c));
    EXPECT_EQ(std::vector<int32_t>(found.begin(), found.begin() + 5),
              (std::vector<int32_t>{-32, -10, kernels::kLargestIsInfinite,
                                    kernels::kAllAreMinusInfinite, 0}));
  }
}

}  // namespace
}  // namespace skein
