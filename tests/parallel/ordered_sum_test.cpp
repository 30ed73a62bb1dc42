#include "skein/parallel/ordered_sum.h"

#include <gtest/gtest.h>

#include "skein/comm/local.h"

#include "support/gradient_check.h"

namespace skein {
namespace {

TEST(OrderedSum, IsThatOfRanksOnTheHost) {
  constexpr int64_t kBlock = 29;
  for (const int ranks : {1, 2, 3, 4, 5, 6, 8, 12, 16})
    run_ranks(ranks, [&](Group& group) {
      const Tensor in = test::random_tensor({ranks * kBlock},
                                            3 + static_cast<uint64_t>(group.rank()), DType::f32,
                                            std::pow(10, group.rank() % 3)),
                   before = in.clone(), wanted = Tensor::empty({kBlock}, DType::f32),
                   found = Tensor::empty({kBlock}, DType::f32);
      group.reduce_scatter(in, wanted).wait();
      ordered_reduce_scatter(group, in, found);
      EXPECT_EQ(test::bytes_of(found), test::bytes_of(wanted)) << ranks;
      EXPECT_EQ(test::bytes_of(in), test::bytes_of(before)) << ranks;
    });
}

}  // namespace
}  // namespace skein
