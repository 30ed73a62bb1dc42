// What is said between ranks that have met; rendezvous_test has how they do.
#include <array>
#include <future>
#include <sys/resource.h>
#include <sys/wait.h>

#include "comm/mpi_body.h"
#include "comm/tcp_fixture.h"

namespace skein {
namespace {

using namespace test;

constexpr int64_t kLarge = 40 << 20;  // more than the buffers of a connection hold

class TcpRanks : public Tcp, public testing::WithParamInterface<int> {};

TEST_P(TcpRanks, CollectivesHaveTheirValues) {
  expect_good(run_tcp(GetParam(), file(), check_collectives));
}

INSTANTIATE_TEST_SUITE_P(Tcp, TcpRanks, testing::Values(1, 2, 3, 4, 7));

TEST_F(Tcp, LargeMessagesCrossEachOther) {
  expect_good(run_tcp(2, file(), [](Group& group) {
    const int peer = 1 - group.rank();
    const Tensor mine =
        filled<uint8_t>(kLarge, [&](int64_t i) { return (i * 7 + group.rank()) % 251; });
    const Tensor theirs = Tensor::zeros({kLarge}, DType::u8), small = Tensor::zeros({1}, DType::u8);
    Work large = group.send(mine, peer, 1), last = group.send(mine.flat(5, 1), peer, 2);
    group.recv(small, peer, 2).wait();
    EXPECT_EQ(small.data<uint8_t>()[0], (5 * 7 + peer) % 251);
    group.recv(theirs, peer, 1).wait();
    expect_values<uint8_t>(theirs, "large message",
                           [&](int64_t i) { return (i * 7 + peer) % 251; });
    large.wait();
    last.wait();
  }));
}

TEST_F(Tcp, ASendDoesNotWaitForItsReceiver) {
  std::promise<void> sent;
  expect_good(run_tcp(2, file(), [&](Group& group) {
    const Tensor tensor = filled<uint8_t>(kLarge, [](int64_t i) { return i % 199; });
    if (group.rank() == 0) {
      Work work = group.send(tensor, 1, 0);
      sent.set_value();
      return work.wait();
    }
    sent.get_future().wait();
    const Tensor got = Tensor::zeros({kLarge}, DType::u8);
    group.recv(got, 0, 0).wait();
    EXPECT_TRUE(same_bits(got, tensor));
  }));
}

TEST_F(Tcp, AMessageBegunBeforeItsReceiveIsWhole) {
  expect_good(run_tcp(2, file(), [](Group& group) {
    const Tensor tensor = filled<uint8_t>(kLarge, [](int64_t i) { return i % 197; });
    for (int turn = 0; turn < 4; ++turn) {
      if (group.rank() == 0) {
        group.barrier();
        group.send(tensor, 1, 0).wait();
        continue;
      }
      const Tensor got = Tensor::zeros({kLarge}, DType::u8);
      group.barrier();
      std::this_thread::sleep_for(std::chrono::microseconds(turn * 700));
      group.recv(got, 0, 0).wait();
      EXPECT_TRUE(same_bits(got, tensor));
    }
  }));
}

TEST_F(Tcp, AWorkThatIsDroppedLeavesItsBufferAlone) {
  expect_good(run_tcp(2, file(), [](Group& group) {
    const auto value = [](int64_t i) { return i % 193; };
    if (group.rank() == 0) {
      {
        const Tensor tensor = filled<uint8_t>(kLarge, value);
        group.send(tensor, 1, 0);
      }
      return group.barrier();
    }
    pause(20);
    const Tensor got = Tensor::zeros({kLarge}, DType::u8);
    group.recv(got, 0, 0).wait();
    expect_values<uint8_t>(got, "message of a dropped work", value);
    { group.recv(Tensor::zeros({kLarge}, DType::u8), 0, 1); }
    group.barrier();
  }));
}

TEST_F(Tcp, PartsOfAGroupAreApartFromEachOther) {
  expect_good(run_tcp(4, file(), [](Group& group) {
    const auto one = group.split(0, 0), two = group.split(0, -group.rank());
    EXPECT_EQ(two->rank(), 3 - group.rank());
    const int next = (group.rank() + 1) % 4, before = (group.rank() + 3) % 4;
    std::array<int, 3> out{100 + group.rank(), 200 + group.rank(), 300 + group.rank()}, in{};
    Work a = group.send_bytes(bytes_of(out[0]), 4, next, 7),
         b = one->send_bytes(bytes_of(out[1]), 4, next, 7),
         c = two->send_bytes(bytes_of(out[2]), 4, 3 - next, 7);
    two->recv_bytes(bytes_of(in[2]), 4, 3 - before, 7).wait();
    one->barrier();
    one->recv_bytes(bytes_of(in[1]), 4, before, 7).wait();
    group.recv_bytes(bytes_of(in[0]), 4, before, 7).wait();
    EXPECT_EQ(in, (std::array<int, 3>{100 + before, 200 + before, 300 + before}));
    for (Work* work : {&a, &b, &c}) work->wait();
  }));
}

TEST_F(Tcp, GroupsOutliveTheWorldTheyAreFrom) {
  std::vector<std::jthread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([this, r] {
      auto world = tcp::start_tcp({.rank = r, .ranks = 2, .rendezvous = file(), .timeout = 60});
      const auto part = world->split(0, 0);
      world.reset();
      EXPECT_EQ(part->sum(int64_t{r + 1}), 3);
    });
}

TEST_F(Tcp, ARankThatFailsEndsAllThatWait) {
  const auto ended = run_tcp(4, file(), [](Group& group) {
    const auto part = group.split(group.rank() / 2, 0);
    int value = 0;
    if (group.rank() == 3) pause(50), fail("the disk of rank 3 is full");
    if (group.rank() == 0) part->recv_bytes(bytes_of(value), 4, 1, 0).wait();
    if (group.rank() == 1) group.recv_bytes(bytes_of(value), 4, 3, 0).wait();
    group.barrier();
  });
  EXPECT_EQ(ended[3].text, "the disk of rank 3 is full");
  for (size_t r = 0; r < 3; ++r)
    expect_error(ended[r], ExitCode::failure,
                 {"rank 3 (", ":", ") is gone", "; look for the first error of the job"});
}

// Rank 0 may only tell of the error and go on: what rank 1 sent for the exchange that failed is
// then there in place of what it sends for the next one.
TEST_F(Tcp, AfterALossNoMessageIsTakenForAnother) {
  const auto ended = run_tcp(3, file(), [](Group& group) {
    int64_t value = 0;
    if (group.rank() == 2) fail("the disk of rank 2 is full");
    if (group.rank() == 1) group.send_bytes(bytes_of(value), 8, 0, 5).wait();
    EXPECT_THROW(group.recv_bytes(bytes_of(value), 8, 2, 5).wait(), LostRank);
    if (group.rank() == 1) return group.send_bytes(bytes_of(value), 4, 0, 5).wait();
    pause(50);
    group.recv_bytes(bytes_of(value), 4, 1, 5).wait();
  });
  for (size_t r = 0; r < 2; ++r) expect_error(ended[r], ExitCode::failure, {"rank 2 (", "is gone"});
}

TEST_F(Tcp, AProcessThatIsKilledEndsAllThatWait) {
  const pid_t child = fork();
  if (child == 0) {
    const auto world = tcp::start_tcp({.rank = 1, .ranks = 2, .rendezvous = file(), .timeout = 60});
    world->barrier();
    pause(60000);
    _exit(0);
  }
  const Ended ended =
      run_job({.rank = 0, .ranks = 2, .rendezvous = file(), .timeout = 60}, [&](Group& group) {
        group.barrier();
        kill(child, SIGKILL);
        group.barrier();
      });
  waitpid(child, nullptr, 0);
  expect_error(ended, ExitCode::failure, {"rank 1 (", "is gone"});
}

TEST_F(Tcp, ARankThatReturnsEarlyHarmsOnlyWhoWaitsForIt) {
  const auto ended = run_tcp(3, file(), [](Group& group) {
    int value = 5;
    if (group.rank() == 1) return;
    if (group.rank() == 2) return pause(100), group.send_bytes(bytes_of(value), 4, 0, 0).wait();
    value = 0;
    group.recv_bytes(bytes_of(value), 4, 2, 0).wait();
    EXPECT_EQ(value, 5);
    group.recv_bytes(bytes_of(value), 4, 1, 9).wait();
  });
  EXPECT_EQ(ended[1].text + ended[2].text, "");
  expect_error(
      ended[0], ExitCode::failure,
      {"from rank 1 with tag 9 cannot complete: rank 1 (", "has ended without taking part"});
}

TEST_F(Tcp, ASendToARankThatHasReturnedIsAnError) {
  const auto ended = run_tcp(2, file(), [](Group& group) {
    int value = 5;
    if (group.rank() == 1) return;
    pause(200);
    group.send_bytes(bytes_of(value), 4, 1, 3).wait();
  });
  expect_error(ended[0], ExitCode::failure,
               {"rank 0's send of 4 bytes with tag 3", "rank 1 (", "has ended"});
}

TEST_F(Tcp, WhatWasSentBeforeTheEndStillArrives) {
  expect_good(run_tcp(2, file(), [](Group& group) {
    const Tensor tensor = filled<uint8_t>(kLarge, [](int64_t i) { return i % 191; });
    if (group.rank() == 1) {
      group.send(tensor, 0, 0);
      return;
    }
    pause(100);
    const Tensor got = Tensor::zeros({kLarge}, DType::u8);
    group.recv(got, 1, 0).wait();
    EXPECT_TRUE(same_bits(got, tensor));
  }));
}

TEST_F(Tcp, AMessageOfAnotherSizeIsNamed) {
  for (const int wait_first : {0, 100}) {
    const auto ended = run_tcp(2, file(), [&](Group& group) {
      std::array<int, 4> values{};
      if (group.rank() == 0)
        return pause(100 - wait_first), group.send_bytes(bytes_of(values), 16, 1, 5).wait();
      pause(wait_first);
      group.recv_bytes(bytes_of(values), 12, 0, 5).wait();
    });
    expect_error(ended[1], ExitCode::internal,
                 {"receive of 12 bytes from rank 0 with tag 5 met a message of 16 bytes"});
  }
}

TEST_F(Tcp, AJobMayOpenAsManyFilesAsTheHostLets) {
  rlimit before{}, after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max <= 256)
    GTEST_SKIP() << "this host lets no process have more than 256 open files";
  const rlimit few{256, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  expect_good(run_tcp(1, file(), [](Group&) {}));
  EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(after.rlim_cur, std::min<rlim_t>(before.rlim_max, 1 << 16));
  EXPECT_EQ(after.rlim_max, before.rlim_max);
}

TEST_F(Tcp, AMessageToItselfThatWasNeverSentIsAnError) {
  const auto ended = run_tcp(1, file(), [](Group& group) {
    int value = 0;
    group.recv_bytes(bytes_of(value), 4, 0, 3).wait();
  });
  expect_error(ended[0], ExitCode::internal, {"tag 3 was never sent"});
}

TEST_F(Tcp, AMemberThatIsNoneIsRefused) {
  const auto ended =
      run_tcp(2, file(), [](Group& group) { group.send(Tensor::zeros({1}, DType::f32), 2, 0); });
  expect_error(ended[0], ExitCode::internal, {"peer"});
}

TEST_F(Tcp, AbortEndsEveryProcessWithItsExitCode) {
  std::vector<pid_t> children;
  for (int r = 0; r < 3; ++r) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    const auto world = tcp::start_tcp({.rank = r, .ranks = 3, .rendezvous = file(), .timeout = 60});
    const Tensor tensor = Tensor::zeros({kLarge}, DType::u8);
    Work unread = world->send(tensor, (r + 1) % 3, 0);
    if (r == 1) world->abort(75);
    if (r == 0) world->barrier();
    pause(60000);
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 75);
  }
}

}  // namespace
}  // namespace skein
