// Ranks that tell each other where they stand, while their transport hangs.
#include "skein/comm/roll_call.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "skein/comm/local.h"
#include "skein/core/host.h"

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
    if (world.rank() == 1) told = roll->call(own);
    world.barrier();
    if (world.rank() == 0) EXPECT_EQ(hear(*roll, own), RollCall::Heard::over);
  });
  EXPECT_NE(told.find(fmt::format("rank 0 (host {}, process {}) is gone", host_name(), getpid())),
            std::string::npos)
      << told;
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
  EXPECT_EQ(state_of_thread(getpid(), gettid()), Standing::answers);
}

}  // namespace
}  // namespace skein
