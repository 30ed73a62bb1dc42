// Hashing and its rounds on the device against the CPU's.
#include "skein/kernels/hashing.h"

#include "skein/core/philox.h"

#include "support/kernel_check.h"
#include "support/kernel_home.h"

namespace skein {
namespace {

using test::kHome;
using test::random_tensor;

class HashingOnCuda : public testing::TestWithParam<DType> {};

TEST_P(HashingOnCuda, GivesTheBucketsOfTheCpu) {
  for (const std::vector<int64_t>& sides : {std::vector<int64_t>{8}, {300}, {6, 4}}) {
    int64_t planes = 0;
    for (const int64_t side : sides) planes += side / 2;
    const Tensor x = random_tensor({19, 3, 5}, 1, GetParam()),
                 rotations = random_tensor({3, 2, 5, planes}, 2, DType::f32),
                 wanted = Tensor::empty({19, 3, 2}, DType::i32),
                 found = Tensor::empty({19, 3, 2}, DType::i32, kHome);
    kernels::hash_buckets(Cpu{}, x, rotations, sides, Out(wanted));
    kernels::hash_buckets(Cuda{}, x.to(kHome), rotations.to(kHome), sides, Out(found));
    EXPECT_EQ(test::bytes_of(found.to(Device{})), test::bytes_of(wanted));
  }
}

// Documents, some of them apart, and padding at the end; more items than a tile of the sort.
TEST(OrderOnCuda, IsThatOfTheCpu) {
  constexpr int64_t kSamples = 2, kLength = 700, kHeads = 3, kRounds = 2, kBuckets = 300;
  const Tensor buckets = Tensor::empty({kSamples, kLength, kHeads, kRounds}, DType::i32),
               segments = Tensor::empty({kSamples, kLength}, DType::i32);
  for (int64_t i = 0; i < buckets.size(); ++i)
    buckets.data<int32_t>()[i] = static_cast<int32_t>(philox(5, 1, i)[0] % (i % 3 ? 4 : kBuckets));
  for (int64_t i = 0; i < segments.size(); ++i)
    segments.data<int32_t>()[i] =
        i % kLength > 640 + i / kLength * 30 ? -1 : static_cast<int32_t>(i % kLength / 250 * 70000);
  for (const Tensor& documents : {Tensor(), segments}) {
    struct Tables {
      Tensor rows, back, groups;
    };
    const auto tables = [&](Device home) {
      const Tensor rows = Tensor::empty({buckets.size()}, DType::i32, home);
      return Tables{rows, rows.like(), rows.like()};
    };
    const Tables wanted = tables({}), found = tables(kHome);
    kernels::order_by_bucket(Cpu{}, buckets, documents, kBuckets, Out(wanted.rows),
                             Out(wanted.back), Out(wanted.groups));
    kernels::order_by_bucket(Cuda{}, buckets.to(kHome),
                             documents.defined() ? documents.to(kHome) : documents, kBuckets,
                             Out(found.rows), Out(found.back), Out(found.groups));
    const auto expect_equal = [](const Tensor& there, const Tensor& here) {
      EXPECT_EQ(test::bytes_of(there.to(Device{})), test::bytes_of(here));
    };
    expect_equal(found.rows, wanted.rows);
    expect_equal(found.back, wanted.back);
    expect_equal(found.groups, wanted.groups);
  }
}

TEST_P(HashingOnCuda, PutsRoundsTogetherAsTheCpu) {
  const DType dtype = GetParam();
  const Tensor parts = random_tensor({40, 70}, 1, dtype),
               levels = random_tensor({40}, 2, gradient_dtype(dtype)),
               dy = random_tensor({25, 70}, 3, dtype), y = dy.like(), dparts = parts.like(),
               dlevels = levels.like();
  std::vector<int32_t> rows(75, -1);
  for (int32_t part = 0; part < 38; ++part) rows[static_cast<size_t>(part * 11 % 75)] = part;
  const kernels::RoundParts here{parts, levels, Tensor::from(rows, {3, 25})},
      there{parts.to(kHome), levels.to(kHome), here.rows.to(kHome)};
  kernels::merge_rounds(Cpu{}, here, Out(y));
  kernels::merge_rounds_backward(Cpu{}, here, y, dy, Out(dparts), Out(dlevels));
  const Tensor y_there = y.to(kHome).like(), dparts_there = dparts.to(kHome).like(),
               dlevels_there = dlevels.to(kHome).like();
  kernels::merge_rounds(Cuda{}, there, Out(y_there));
  kernels::merge_rounds_backward(Cuda{}, there, y.to(kHome), dy.to(kHome), Out(dparts_there),
                                 Out(dlevels_there));
  const double tolerance = dtype == DType::f32 ? 1e-5 : 2e-2;
  test::expect_near(y_there.to(Device{}), y, tolerance, "y");
  test::expect_near(dparts_there.to(Device{}), dparts, tolerance, "dparts");
  test::expect_near(dlevels_there.to(Device{}), dlevels, 5 * tolerance, "dlevels");
}

INSTANTIATE_TEST_SUITE_P(Types, HashingOnCuda, testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace skein
