#include <array>
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "skein/comm/local.h"
#include "skein/core/log.h"

#include "comm/mpi_body.h"

namespace skein {
namespace {

// The Error that running `body` on `ranks` ranks ends with.
Error error_of(int ranks, const std::function<void(Group&)>& body) {
  try {
    run_ranks(ranks, body);
  } catch (const Error& error) {
    return error;
  }
  return {ExitCode::done, "no error"};
}

void expect_text(const Error& error, const std::string& text) {
  EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << "in: " << error.what();
}

std::byte* bytes_of(auto& value) { return reinterpret_cast<std::byte*>(&value); }

class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, CollectivesHaveTheirValues) {
  EXPECT_NO_THROW(run_ranks(GetParam(), test::check_collectives));
}

TEST_P(Ranks, EachThreadIsOneRankOfTheLog) {
  std::atomic<int> runs = 0;
  run_ranks(GetParam(), [&](Group& group) {
    EXPECT_EQ(log::rank(), group.rank());
    EXPECT_EQ(group.size(), GetParam());
    ++runs;
  });
  EXPECT_EQ(runs, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Local, Ranks, testing::Values(1, 2, 3, 4, 5, 8));

TEST(SingleRank, CollectivesHaveTheirValues) {
  EXPECT_NO_THROW(test::check_collectives(*single_rank()));
}

TEST(SingleRank, CollectivesCopyOnlyWhatLiesElsewhere) {
  const auto group = single_rank();
  const Tensor tensor = Tensor::from<float>({1, 2, 3}, {3});
  const Tensor other = Tensor::zeros({3}, DType::f32);
  const std::byte* memory = tensor.bytes_data();
  group->all_reduce_sum(tensor).wait();
  group->all_reduce_max(tensor).wait();
  group->broadcast(tensor, 0).wait();
  group->all_gather(tensor, tensor).wait();
  group->reduce_scatter(tensor, tensor).wait();
  EXPECT_EQ(tensor.bytes_data(), memory);
  EXPECT_EQ(tensor.data<float>()[2], 3);
  group->all_gather(tensor, other).wait();
  EXPECT_TRUE(test::same_bits(tensor, other));
  other.fill_zero();
  group->reduce_scatter(tensor, other).wait();
  EXPECT_TRUE(test::same_bits(tensor, other));
}

TEST(SingleRank, AMessageToItselfThatWasNeverSentIsAnError) {
  int value = 0;
  try {
    single_rank()->recv_bytes(bytes_of(value), sizeof(value), 0, 3).wait();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::internal);
    expect_text(error, "tag 3 was never sent");
  }
}

TEST(Sums, OfUnsuitableTypesAreRefused) {
  const auto sum = [](Group& group) { group.all_reduce_sum(Tensor::zeros({4}, DType::u8)).wait(); };
  expect_text(error_of(2, sum), "not u8");
  const auto max = [](Group& group) {
    group.all_reduce_max(Tensor::zeros({4}, DType::bf16)).wait();
  };
  expect_text(error_of(2, max), "bf16");
}

TEST(Sums, OfBlocksThatDoNotFitAreRefused) {
  const auto scatter = [](Group& group) {
    group.reduce_scatter(Tensor::zeros({7}, DType::f32), Tensor::zeros({3}, DType::f32)).wait();
  };
  expect_text(error_of(2, scatter), "7 against 6");
  const auto gather = [](Group& group) {
    group.all_gather(Tensor::zeros({3}, DType::f32), Tensor::zeros({7}, DType::f32)).wait();
  };
  expect_text(error_of(2, gather), "7 against 6");
}

TEST(Failure, WakesPeersInACollectiveAndIsWhatComesOut) {
  std::atomic<int> woken = 0;
  const Error error = error_of(4, [&](Group& group) {
    if (group.rank() == 2) fail("the disk of rank {} is full", group.rank());
    try {
      group.sum(1.0);
    } catch (const LostRank&) {
      ++woken;
      throw;
    }
  });
  EXPECT_EQ(error.code(), ExitCode::failure);
  EXPECT_STREQ(error.what(), "the disk of rank 2 is full");
  EXPECT_EQ(woken, 3);
}

TEST(Failure, WakesPeersInAReceiveAndInAPartOfTheGroup) {
  const Error error = error_of(4, [&](Group& group) {
    const auto half = group.split(group.rank() % 2, 0);
    int value = 0;
    if (group.rank() == 0) group.recv_bytes(bytes_of(value), sizeof(value), 1, 0).wait();
    if (group.rank() == 2) half->barrier();
    if (group.rank() == 1) half->recv_bytes(bytes_of(value), sizeof(value), 1, 0).wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    fail_usage("a wrong setting on rank {}", group.rank());
  });
  EXPECT_EQ(error.code(), ExitCode::usage);
  EXPECT_STREQ(error.what(), "a wrong setting on rank 3");
}

TEST(Failure, OtherExceptionsKeepTheirType) {
  EXPECT_THROW(run_ranks(3,
                         [](Group& group) {
                           if (group.rank() == 1) throw std::out_of_range("own type");
                           group.barrier();
                         }),
               std::out_of_range);
}

TEST(Failure, ARankThatReturnsEarlyLeavesNobodyWaiting) {
  const Error collective = error_of(3, [](Group& group) {
    if (group.rank() != 1) group.barrier();
  });
  EXPECT_EQ(collective.code(), ExitCode::failure);
  expect_text(collective, "barrier cannot complete: rank 1 has ended");
  const Error receive = error_of(2, [](Group& group) {
    int value = 0;
    if (group.rank() == 0) group.recv_bytes(bytes_of(value), sizeof(value), 1, 9).wait();
  });
  expect_text(receive, "from rank 1 with tag 9 cannot complete: rank 1 has ended");
  run_ranks(2, [](Group& group) {
    if (group.rank() == 1) return;
    EXPECT_THROW(group.barrier(), LostRank);
  });
}

TEST(Failure, WhatWasSentBeforeTheEndStillArrives) {
  int got = 0;
  run_ranks(2, [&](Group& group) {
    int value = 41 + group.rank();
    if (group.rank() == 1) return group.send_bytes(bytes_of(value), sizeof(value), 0, 0).wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    group.recv_bytes(bytes_of(got), sizeof(got), 1, 0).wait();
  });
  EXPECT_EQ(got, 42);
}

TEST(Failure, DifferentCollectivesAreNamed) {
  const Error kind = error_of(2, [](Group& group) {
    std::array<int64_t, 2> values{};
    if (group.rank() == 0)
      group.broadcast_bytes(bytes_of(values), 8, 0).wait();
    else
      group.all_gather_bytes(bytes_of(values[1]), bytes_of(values), 8).wait();
  });
  EXPECT_EQ(kind.code(), ExitCode::internal);
  expect_text(kind, "rank 0 broadcast of 8 bytes with root 0, rank 1 all_gather of 8 bytes");
  const Error size = error_of(2, [](Group& group) {
    group.broadcast(Tensor::zeros({3 + group.rank()}, DType::u8), 0).wait();
  });
  expect_text(size, "broadcast of 3 bytes");
  expect_text(size, "broadcast of 4 bytes");
}

TEST(Failure, AMessageOfAnotherSizeIsNamed) {
  const Error error = error_of(2, [](Group& group) {
    std::array<int, 4> values{};
    if (group.rank() == 0)
      group.send_bytes(bytes_of(values), 16, 1, 5).wait();
    else
      group.recv_bytes(bytes_of(values), 12, 0, 5).wait();
  });
  EXPECT_EQ(error.code(), ExitCode::internal);
  expect_text(error, "receive of 12 bytes from rank 0 with tag 5 met a message of 16 bytes");
}

TEST(Failure, AMemberThatIsNoneIsRefused) {
  EXPECT_EQ(
      error_of(2, [](Group& group) { group.send(Tensor::zeros({1}, DType::f32), 2, 0); }).code(),
      ExitCode::internal);
  EXPECT_EQ(
      error_of(2, [](Group& group) { group.broadcast(Tensor::zeros({1}, DType::f32), -1).wait(); })
          .code(),
      ExitCode::internal);
}

TEST(Abort, EndsAllRanksWithItsExitCode) {
  const Error error = error_of(3, [](Group& group) {
    if (group.rank() == 2) group.abort(static_cast<int>(ExitCode::watchdog));
    group.barrier();
  });
  EXPECT_EQ(error.code(), ExitCode::watchdog);
  expect_text(error, "exit code 75");
}

}  // namespace
}  // namespace skein
