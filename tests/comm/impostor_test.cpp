// A rank that has been let in and then says what none may: the job ends, and names it.
#include <fcntl.h>
#include <limits>
#include <unistd.h>

#include "skein/comm/tcp/head.h"

#include "comm/caller.h"

namespace skein {
namespace {

using namespace test;

// Rank 0 of 2, which waits for 4 bytes with tag 5, and rank 1, which the test plays.
class Impostor : public Tcp {
 protected:
  static Ended end_after(const std::function<void(Caller&)>& speak, int64_t most_unasked = 0) {
    tcp::TcpJob job = job_at(0, 2, fmt::format("127.0.0.1:{}", free_port()));
    job.most_unasked = most_unasked;
    Ended ended;
    std::jthread zero([&] {
      ended = run_job(job, [](Group& group) {
        int value = 0;
        group.recv_bytes(bytes_of(value), 4, 1, 5).wait();
      });
    });
    const std::string& address = job.rendezvous;
    Caller rank(std::stoi(address.substr(address.find(':') + 1)));
    EXPECT_NE(join(rank, tcp::Secret(), {2, 1, 0, 6000, "node7"}).job, 0u);
    EXPECT_EQ(tcp::table_in(rank.hear_frame(), 2).rows.size(), 2u);
    speak(rank);
    zero.join();
    return ended;
  }
  static void expect_accused(const std::vector<tcp::TcpHead>& heads, const std::string& what) {
    const Ended ended = end_after([&](const Caller& rank) {
      for (const tcp::TcpHead& head : heads) rank.say(bytes_of_head(head));
    });
    expect_error(ended, ExitCode::failure, {"rank 1 (node7:6000) sent " + what});
  }
};

TEST_F(Impostor, ARankThatIsPlayedWellIsTaken) {
  const Ended ended = end_after([](const Caller& rank) {
    rank.say(bytes_of_head({.tag = 5, .bytes = 4}) + "four");
    rank.say(bytes_of_head({.kind = tcp::TcpKind::goodbye}));
  });
  EXPECT_EQ(ended.text, "");
}

TEST_F(Impostor, UnknownKindsEndTheJob) {
  for (const int kind : {-1, 5, 1 << 30})
    expect_accused({{.kind = static_cast<tcp::TcpKind>(kind)}},
                   fmt::format("a message of unknown kind {}", kind));
}

TEST_F(Impostor, SizesThatAreNoneEndTheJob) {
  expect_accused({{.tag = 5, .bytes = -5}}, "a message of -5 bytes");
  expect_accused({{.tag = 5, .bytes = std::numeric_limits<int64_t>::min()}}, "a message of -9");
  for (const int64_t bytes : {int64_t{1} << 50, std::numeric_limits<int64_t>::max()})
    for (const int64_t tag : {5, 6})
      expect_accused(
          {{.tag = tag, .bytes = bytes}},
          fmt::format("a message of {} bytes with tag {} that nobody has asked for", bytes, tag));
}

TEST_F(Impostor, ASizeThatWasNotAskedForEndsTheJob) {
  const Ended ended = end_after(
      [](const Caller& rank) { rank.say(bytes_of_head({.tag = 5, .bytes = 3}) + "abc"); });
  expect_error(ended, ExitCode::internal, {"met a message of 3 bytes", "rank 1 (node7:6000)"});
}

TEST_F(Impostor, ASizeThatWasNotAskedForNeedsNoBytesToEndTheJob) {
  const Ended ended = end_after([](const Caller& rank) {
    rank.say(bytes_of_head({.tag = 5, .bytes = 1 << 20}));
    EXPECT_TRUE(rank.hears_the_end());
  });
  expect_error(ended, ExitCode::internal,
               {"met a message of 1048576 bytes", "rank 1 (node7:6000)"});
}

TEST_F(Impostor, ExitCodesThatAPeerMayNotGiveEndTheJobAsAFailure) {
  for (const int code : {0, 256, -1})
    expect_accused({{.kind = tcp::TcpKind::abort, .code = code}},
                   fmt::format("the exit code {}, which ends no job", code));
}

TEST_F(Impostor, OnlyAnAbortThatIsNoStopIsAnError) {
  const auto end_by = [](int code) {
    end_after([&](const Caller& rank) {
      rank.say(bytes_of_head({.kind = tcp::TcpKind::abort, .code = code}));
    });
  };
  for (const int code : {85, 130, 143})
    EXPECT_EXIT(end_by(code), testing::ExitedWithCode(code),
                "[0-9] rank 0: rank 1 .node7:6000. was asked to stop, and the job ends with it");
  EXPECT_EXIT(end_by(75), testing::ExitedWithCode(75),
              "error: rank 0: rank 1 .node7:6000. has ended the job with exit code 75");
}

TEST_F(Impostor, AnAbortEndsARankWhoseLogHangs) {
  const auto end = [] {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
    while (write(ends[1], "full", 4) == 4) {
    }
    fcntl(ends[1], F_SETFL, 0);
    dup2(ends[1], STDERR_FILENO);
    end_after([](const Caller& rank) {
      rank.say(bytes_of_head({.kind = tcp::TcpKind::abort, .code = 85}));
      pause(60'000);
    });
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(85), "");
}

TEST_F(Impostor, WordsOutOfTurnEndTheJob) {
  expect_accused({{.kind = tcp::TcpKind::farewell}}, "an answer to a goodbye that was not said");
  expect_accused({{.code = 1, .tag = 5, .bytes = 4}}, "a message with code 1");
  expect_accused({{.kind = tcp::TcpKind::loss, .code = 2}}, "the loss of rank 2 of 2");
  expect_accused({{.kind = tcp::TcpKind::loss, .code = -1}}, "the loss of rank -1 of 2");
  expect_accused({{.kind = tcp::TcpKind::goodbye, .bytes = 9}}, "9 bytes with a message of kind 1");
}

// Whom it names may be well.
TEST_F(Impostor, ALossIsToldWithTheRankThatSaysSo) {
  const Ended ended = end_after(
      [](const Caller& rank) { rank.say(bytes_of_head({.kind = tcp::TcpKind::loss, .code = 0})); });
  expect_error(ended, ExitCode::failure, {"rank 0 (", ") is gone, says rank 1 (node7:6000); look"});
}

TEST_F(Impostor, NothingComesAfterAGoodbye) {
  const auto after_goodbye = [](const tcp::TcpHead& last) {
    return end_after([&](const Caller& rank) {
      rank.say(bytes_of_head({.kind = tcp::TcpKind::goodbye}) + bytes_of_head(last));
    });
  };
  expect_error(after_goodbye({.tag = 5}), ExitCode::failure,
               {"rank 1 (node7:6000) sent a message after its goodbye"});
  expect_error(after_goodbye({.kind = tcp::TcpKind::goodbye}), ExitCode::failure,
               {"rank 1 (node7:6000) sent a second goodbye"});
}

TEST_F(Impostor, WhatNobodyAskedForIsBounded) {
  const std::string content(4096, 'x');
  const Ended ended = end_after(
      [&](const Caller& rank) {
        for (int tag = 100; tag < 1000; ++tag)
          if (!rank.say(bytes_of_head({.tag = tag, .bytes = 4096}) + content)) return;
      },
      1 << 20);
  expect_error(ended, ExitCode::failure,
               {"rank 1 (node7:6000) sent a message of 4096 bytes", "nobody has asked for",
                "at most 1048576 are kept"});
}

TEST_F(Impostor, MessagesWithoutBytesAreBoundedToo) {
  const Ended ended = end_after(
      [](const Caller& rank) {
        std::string all;
        for (int tag = 100; tag < 5100; ++tag) all += bytes_of_head({.tag = tag});
        rank.say(all);
      },
      1 << 20);
  expect_error(ended, ExitCode::failure, {"a message of 0 bytes", "at most 1048576 are kept"});
}

// Each is a channel of its own, which takes more than its bytes.
TEST_F(Impostor, AnEmptyMessageCountsForWhatItTakes) {
  const Ended ended = end_after(
      [](const Caller& rank) {
        std::string all;
        for (int tag = 100; tag < 1200; ++tag) all += bytes_of_head({.tag = tag});
        rank.say(all + bytes_of_head({.tag = 5, .bytes = 4}) + "four");
        rank.say(bytes_of_head({.kind = tcp::TcpKind::goodbye}));
      },
      1 << 20);
  expect_error(ended, ExitCode::failure, {"beside 1048576 bytes of others"});
}

// Every bit of a head matters: what is damaged is refused, or goes elsewhere, so that the sender is
// missed when it is gone.
TEST_F(Impostor, ADamagedHeadIsNeverTaken) {
  for (size_t byte = 0; byte < sizeof(tcp::TcpHead); ++byte)
    for (const int flipped : {1, 0x80, 0xFF}) {
      std::string head = bytes_of_head({.tag = 5, .bytes = 4});
      head[byte] = static_cast<char>(head[byte] ^ flipped);
      const auto speak = [&](Caller& rank) {
        rank.say(head + "four");
        pause(1);
        rank.hang_up();
      };
      const Ended ended = end_after(speak, 1 << 20);
      EXPECT_NE(ended.code, ExitCode::done) << byte << " " << flipped;
      EXPECT_NE(ended.text.find("rank 1 (node7:6000)"), std::string::npos) << ended.text;
    }
}

// What is asked for in time makes room again, however much it is together.
TEST_F(Impostor, WhatIsTakenMakesRoom) {
  std::vector<tcp::TcpJob> jobs = {job_at(0, 2, file()), job_at(1, 2, file())};
  for (tcp::TcpJob& job : jobs) job.most_unasked = 1 << 20;
  expect_good(run_jobs(jobs, [](Group& group) {
    std::vector<std::byte> data(300'000);
    for (int turn = 0; turn < 20; ++turn) {
      const auto bytes = static_cast<int64_t>(data.size());
      Work sent = group.rank() == 0 ? group.send_bytes(data.data(), bytes, 1, turn) : Work();
      group.barrier();
      if (group.rank() == 1) group.recv_bytes(data.data(), bytes, 0, turn).wait();
      sent.wait();
    }
  }));
}

}  // namespace
}  // namespace skein
