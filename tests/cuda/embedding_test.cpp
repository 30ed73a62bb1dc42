// Gradients of tables on the device against the CPU's.
#include "skein/kernels/embedding.h"

#include <functional>
#include <map>

#include "support/kernel_check.h"
#include "support/kernel_home.h"

namespace skein {
namespace {

using test::kHome;
using test::random_tensor;
using Ids = std::vector<int32_t>;

constexpr int32_t kFirst = 100;
constexpr int64_t kFoldedAsOnTheCpu = 64;

Tensor on_cuda(const Tensor& dy, const Tensor& ids, int64_t first_id, const Tensor& gradient) {
  const Tensor there = gradient.clone().to(kHome);
  kernels::embedding_backward(Cuda{}, dy.to(kHome), ids.to(kHome), first_id, Out(there));
  return there.to(Device{});
}

// Rows of up to 64 uses have the CPU's bits.
void expect_same(const Ids& ids, int64_t rows, int64_t columns, DType dtype, const Tensor& dy) {
  const Tensor positions = Tensor::from(ids, {static_cast<int64_t>(ids.size())});
  const Tensor wanted = random_tensor({rows, columns}, 3, gradient_dtype(dtype)),
               found = on_cuda(dy, positions, kFirst, wanted);
  kernels::embedding_backward(Cpu{}, dy, positions, kFirst, Out(wanted));
  std::map<int64_t, int64_t> uses;
  for (int32_t id : ids) ++uses[id - kFirst];
  const std::vector<double> left = test::values_of(wanted), right = test::values_of(found);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const double x = left[static_cast<size_t>(i)], y = right[static_cast<size_t>(i)];
    if (uses[i / columns] <= kFoldedAsOnTheCpu)
      ASSERT_EQ(y, x) << "row " << i / columns << " column " << i % columns;
    else
      ASSERT_NEAR(y, x, 1e-5 * std::sqrt(uses[i / columns]) * (1 + std::abs(x)))
          << "row " << i / columns << " column " << i % columns;
  }
}

void expect_same(const Ids& ids, int64_t rows, int64_t columns, DType dtype) {
  expect_same(ids, rows, columns, dtype,
              random_tensor({static_cast<int64_t>(ids.size()), columns}, 2, dtype));
}

Ids ids_of(int64_t count, const std::function<int64_t(int64_t)>& row) {
  Ids made;
  for (int64_t i = 0; i < count; ++i) made.push_back(kFirst + static_cast<int32_t>(row(i)));
  return made;
}

class EmbeddingOnCuda : public testing::TestWithParam<DType> {};

TEST_P(EmbeddingOnCuda, OneIdEverywhere) {
  for (int64_t count : {1, 63, 64, 65, 129, 5000})
    expect_same(ids_of(count, [](int64_t) { return 2; }), 5, 24, GetParam());
}

TEST_P(EmbeddingOnCuda, AllDifferent) {
  for (int64_t columns : {1, 7, 32})
    expect_same(ids_of(700, [](int64_t i) { return i * 311 % 700; }), 700, columns, GetParam());
}

TEST_P(EmbeddingOnCuda, IdsThatAreElsewhere) {
  expect_same(ids_of(900, [](int64_t i) { return i * i % 61 - 20; }), 17, 40, GetParam());
  expect_same(ids_of(300, [](int64_t i) { return i % 2 ? -1 : 17; }), 17, 40, GetParam());
  expect_same(ids_of(70, [](int64_t) { return -kFirst; }), 17, 40, GetParam());
}

TEST_P(EmbeddingOnCuda, FewFrequentIdsAmongMany) {
  expect_same(ids_of(20000, [](int64_t i) { return i % 3 ? i * i % 11 : i * 7919 % 50000; }), 50000,
              3, GetParam());
  expect_same(ids_of(3000, [](int64_t i) { return i % 40 * 1700 + i % 3; }), 70000, 8, GetParam());
  expect_same(ids_of(4000, [](int64_t i) { return i < 2000 ? i / 65 : i % 30; }), 256, 16,
              GetParam());
}

TEST_P(EmbeddingOnCuda, RowsThatBeginAnywhere) {
  const Tensor dy = random_tensor({101, 16}, 2, GetParam()).flat(3, 1600).reshape({100, 16});
  expect_same(ids_of(100, [](int64_t i) { return i % 9; }), 9, 16, GetParam(), dy);
}

TEST_P(EmbeddingOnCuda, PartsOfATableHaveTheBitsOfTheWhole) {
  const Tensor dy = random_tensor({3000, 24}, 2, GetParam());
  const Tensor ids =
      Tensor::from(ids_of(3000, [](int64_t i) { return i % 5 ? i % 7 * 13 : i % 100; }), {3000});
  const Tensor zeros = Tensor::zeros({100, 24}, gradient_dtype(GetParam())),
               whole = on_cuda(dy, ids, kFirst, zeros);
  EXPECT_EQ(test::values_of(on_cuda(dy, ids, kFirst, zeros)), test::values_of(whole));
  for (int64_t begin : {0, 37, 91}) {
    const Tensor part = on_cuda(dy, ids, kFirst + begin, zeros.rows(begin, 100));
    EXPECT_EQ(test::values_of(part), test::values_of(whole.rows(begin, 100))) << begin;
  }
}

TEST_P(EmbeddingOnCuda, NoIdsChangeNothing) { expect_same({}, 4, 8, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Types, EmbeddingOnCuda,
                         testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace skein
