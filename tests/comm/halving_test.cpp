// What sums and gathers between hosts send.
#include <bit>
#include <gtest/gtest.h>

#include "skein/comm/local.h"

#include "comm/mpi_body.h"
#include "comm/passing_group.h"

namespace skein {
namespace {

class Counting : public test::PassingGroup {
 public:
  using PassingGroup::PassingGroup;
  Work send_bytes(const std::byte* data, int64_t size, int peer, int tag) override {
    ++messages;
    bytes += size;
    return PassingGroup::send_bytes(data, size, peer, tag);
  }
  int messages = 0;
  int64_t bytes = 0;
};

// log2 of the power of two in n, and one to each of what is left but the own.
int messages_of(int ranks) {
  const int steps = std::countr_zero(static_cast<unsigned>(ranks));
  return steps + (ranks >> steps) - 1;
}

float number_of(int rank, int64_t i) {
  return static_cast<float>((rank * 7 + i * 13) % 101 - 50) * std::ldexp(1.1f, rank % 5);
}

// The tree of the definition (comm/group.h) over ranks [begin, end).
float tree_sum_of(int begin, int end, int64_t i) {
  if (end - begin == 1) return number_of(begin, i);
  const int half = begin + static_cast<int>(std::bit_floor<unsigned>(end - begin - 1));
  return tree_sum_of(begin, half, i) + tree_sum_of(half, end, i);
}

class Halving : public testing::TestWithParam<int> {};

TEST_P(Halving, SendsLittleInFewMessagesAndKeepsTheTree) {
  const int ranks = GetParam();
  constexpr int64_t kBlock = 37;
  run_ranks(ranks, [&](Group& world) {
    Counting group(world);
    const Tensor in = Tensor::empty({ranks * kBlock}, DType::f32),
                 out = Tensor::empty({kBlock}, DType::f32);
    for (int64_t i = 0; i < in.size(); ++i) in.data<float>()[i] = number_of(group.rank(), i);
    const Tensor before = in.clone();
    group.reduce_scatter(in, out).wait();
    EXPECT_EQ(group.messages, messages_of(ranks));
    EXPECT_EQ(group.bytes, in.bytes() - out.bytes());
    EXPECT_TRUE(test::same_bits(in, before));
    for (int64_t i = 0; i < kBlock; ++i)
      ASSERT_EQ(out.data<float>()[i], tree_sum_of(0, ranks, group.rank() * kBlock + i)) << i;
    const Tensor own = in.flat(group.rank() * kBlock, kBlock);
    group.reduce_scatter(in, own).wait();
    EXPECT_TRUE(test::same_bits(own, out)) << "a sum into its own block";

    group.messages = 0;
    group.bytes = 0;
    const Tensor all = Tensor::empty({ranks * kBlock}, DType::f32);
    group.all_gather(out, all).wait();
    EXPECT_EQ(group.messages, ranks <= 3 ? 0 : messages_of(ranks));
    EXPECT_EQ(group.bytes, ranks <= 3 ? 0 : in.bytes() - out.bytes());
    for (int64_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(all.data<float>()[i], tree_sum_of(0, ranks, i)) << i;
    const Tensor gathered = all.clone();
    group.all_gather(all.flat(group.rank() * kBlock, kBlock), all).wait();
    EXPECT_TRUE(test::same_bits(all, gathered)) << "a gather from its own block";
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Halving,
                         testing::Values(2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 48, 64));

TEST(Halving, HalfPrecisionGoesStraightAndIsRoundedOnce) {
  for (const DType dtype : {DType::bf16, DType::f16})
    run_ranks(6, [&](Group& world) {
      Counting group(world);
      const Tensor in = Tensor::empty({12}, DType::f32);
      for (int64_t i = 0; i < 12; ++i) in.data<float>()[i] = static_cast<float>(group.rank() + i);
      const Tensor out = Tensor::empty({2}, dtype);
      group.reduce_scatter(in.to(dtype), out).wait();
      EXPECT_EQ(group.messages, 5);
      EXPECT_EQ(group.bytes, 20);
      const Tensor sums = out.to(DType::f32);
      for (int64_t i = 0; i < 2; ++i)
        EXPECT_EQ(sums.data<float>()[i], static_cast<float>(15 + 6 * (2 * group.rank() + i)));
    });
}

}  // namespace
}  // namespace skein
