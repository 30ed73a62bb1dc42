// Ranks that tell each other where they stand, while their transport hangs.
#include "skein/comm/roll_call.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "skein/comm/local.h"
#include "skein/core/host.h"

#include "comm/caller.h"
#include "comm/passing_group.h"
#include "comm/tcp_fixture.h"

namespace skein {
namespace {

Standing standing(int rank) {
  Standing made;
  made.rank = rank;
  made.host = host_name();
  made.process = getpid();
  made.thread = gettid();
  made.turns = {{"world", 0, 5}};
  return made;
}

Standing in_a_barrier(int rank) {
  Standing made = standing(rank);
  made.turns[0].turn = 6;
  made.waiting = {"barrier in the world group (step 3)", "world", 6, -1, 61};
  return made;
}

// Until something is heard, ten seconds at most.
RollCall::Heard hear(RollCall& roll, const std::function<Standing()>& own) {
  RollCall::Heard heard = RollCall::Heard::nothing;
  for (int look = 0; look < 1000 && heard == RollCall::Heard::nothing; ++look) {
    heard = roll.listen(own);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return heard;
}

TEST(RollCall, TheLeaderNamesWhoIsWaitedFor) {
  std::string told, own_word = "nothing yet";
  run_ranks(4, [&](Group& world) {
    const auto roll = RollCall::begin(world, standing(world.rank()));
    const auto own = [&] { return world.rank() == 3 ? standing(3) : in_a_barrier(world.rank()); };
    if (world.rank() == 0) {
      EXPECT_EQ(hear(*roll, own), RollCall::Heard::late);
      told = roll->call(own);
      roll->dismiss();
    } else if (world.rank() == 1) {
      own_word = roll->call(own);
    } else {
      EXPECT_EQ(hear(*roll, own), RollCall::Heard::over);
    }
  });
  EXPECT_EQ(own_word, "") << "the leader has spoken";
  EXPECT_EQ(told.find(fmt::format("the job stands still: rank 3 (host {}, process {}) sleeps, "
                                  "outside of any exchange. 3 ranks wait; rank ",
                                  host_name(), getpid())),
            0u)
      << told;
}

// Its watchdog does not answer; what its host knows of it is told.
TEST(RollCall, ARankThatDoesNotAnswerIsLookedAt) {
  std::string told;
  run_ranks(2, [&](Group& world) {
    const auto roll = RollCall::begin(world, standing(world.rank()));
    if (world.rank() == 0) {
      const auto begun = std::chrono::steady_clock::now();
      told = roll->call([] { return in_a_barrier(0); });
      EXPECT_LT(std::chrono::steady_clock::now() - begun,
                std::chrono::duration<double>(2 * RollCall::kAnswers));
    }
    world.barrier();
  });
  EXPECT_NE(told.find("does not answer"), std::string::npos) << told;
}

// As a leader that is woken by the end of its job.
TEST(RollCall, ALeaderThatStoodStillHearsThatTheJobIsOver) {
  int64_t thread = 0;
  std::thread([&] { thread = gettid(); }).join();
  std::string told;
  run_ranks(3, [&](Group& world) {
    const auto own = [&] { return in_a_barrier(world.rank()); };
    Standing first = standing(world.rank());
    if (world.rank() == 0) first.thread = thread;
    const auto roll = RollCall::begin(world, first);
    if (world.rank() == 1) {
      told = roll->call(own);
      roll->dismiss();
    }
    world.barrier();
    if (world.rank() == 0) {
      EXPECT_EQ(hear(*roll, own), RollCall::Heard::over);
    }
  });
  EXPECT_NE(told.find(fmt::format("rank 0 (host {}, process {}) is gone", host_name(), getpid())),
            std::string::npos)
      << told;
}

// A port that this process listens at; 0 where there is none.
int listening_port() {
  std::set<std::string> own;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    own.insert(std::filesystem::read_symlink(entry, gone).string());
  }
  std::ifstream table("/proc/self/net/tcp");
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
    if (fields.size() > 9 && fields[3] == "0A" && own.contains("socket:[" + fields[9] + "]"))
      return std::stoi(fields[1].substr(fields[1].find(':') + 1), nullptr, 16);
  }
  return 0;
}

// Ranks that hear of the meeting when its place is full of strangers.
class Late : public test::PassingGroup {
 public:
  Late(Group& group, const std::atomic<bool>& full) : PassingGroup(group), full_(full) {}
  Work broadcast_bytes(std::byte* data, int64_t bytes, int root) override {
    PassingGroup::broadcast_bytes(data, bytes, root).wait();
    while (rank() > 0 && !full_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {};
  }

 private:
  const std::atomic<bool>& full_;
};

TEST(RollCall, StrangersKeepNobodyOut) {
  std::atomic<bool> full = false, over = false;
  std::thread strangers([&] {
    int port = 0;
    while ((port = listening_port()) == 0) std::this_thread::yield();
    std::vector<test::Caller> callers;
    for (int i = 0; i < 400; ++i) {
      callers.emplace_back(port);
      if (i % 4 == 1) callers.back().say("GET / HTTP/1.1\r\n\r\n");
      if (i % 4 == 2) callers.back().say(tcp::frame_of("0123456789abcdef 1"));
      if (i % 4 == 3) callers.back().say(std::string(8000, 'x'));
    }
    full = true;
    while (!over) test::pause(1);
  });
  std::string told;
  run_ranks(3, [&](Group& group) {
    Late world(group, full);
    const auto begun = std::chrono::steady_clock::now();
    const auto roll = RollCall::begin(world, standing(world.rank()));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
    const auto own = [&] { return world.rank() == 2 ? standing(2) : in_a_barrier(world.rank()); };
    if (world.rank() == 0) {
      told = roll->call(own);
      roll->dismiss();
    } else {
      EXPECT_EQ(hear(*roll, own), RollCall::Heard::over);
    }
  });
  over = true;
  strangers.join();
  EXPECT_NE(told.find("rank 2 "), std::string::npos) << told;
  EXPECT_EQ(told.find("does not answer"), std::string::npos) << told;
}

using RollCallOverTcp = test::Tcp;

// It is not waited for until nobody more is expected.
TEST_F(RollCallOverTcp, ARankThatIsGoneEndsTheMeeting) {
  const auto begun = std::chrono::steady_clock::now();
  const auto ended = test::run_tcp(2, file(), [](Group& world) {
    if (world.rank() == 0) {
      RollCall::begin(world, standing(0));
    } else {  // as a rank does that is killed before it connects
      world.all_gather(packed(standing(1)));
      world.broadcast("", 0);
    }
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(8));
  test::expect_error(ended[0], ExitCode::failure, {"rank 1 (", "has ended without taking part"});
}

TEST(RollCall, StandingsArePackedWhole) {
  const Standing one = in_a_barrier(7);
  const auto found = unpacked(packed(one));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->str(), one.str());
  EXPECT_EQ(found->thread, one.thread);
  EXPECT_EQ(found->turns.size(), 1u);
  EXPECT_EQ(found->waiting->turn, 6);
  EXPECT_FALSE(unpacked("late"));
  EXPECT_FALSE(unpacked("{\"rank\": \"seven\"}"));
}

TEST(RollCall, AThreadThatIsNoMoreIsGone) {
  int64_t thread = 0;
  std::thread([&] { thread = gettid(); }).join();
  EXPECT_EQ(state_of_thread(getpid(), thread), Standing::gone);
  EXPECT_FALSE(is_runnable(getpid(), thread));
  EXPECT_EQ(state_of_thread(getpid(), gettid()), Standing::answers);
  EXPECT_TRUE(is_runnable(getpid(), gettid()));
}

}  // namespace
}  // namespace skein
