#include "skein/comm/meeting.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "skein/comm/local.h"

namespace skein {
namespace {

TEST(Meeting, RanksMayHaveDifferentNumbersOfRounds) {
  std::atomic<int> finished{0};
  run_ranks(3, [&](Group& world) {
    Meeting meeting(world, [] { return false; });
    for (int work = 0; work < 3; ++work) {
      for (int round = 0; round < 1000 * ((world.rank() + work) % 3); ++round) meeting.pass();
      meeting.finish();
      // Nobody is ahead by more than this one.
      EXPECT_GE(++finished, 3 * work + 1);
      world.barrier();
      EXPECT_EQ(finished, 3 * (work + 1));
      world.barrier();
    }
  });
}

TEST(Meeting, IsLeftByAllWhereOneWasAsked) {
  std::atomic<int> interrupted{0};
  run_ranks(3, [&](Group& world) {
    bool asked = false;
    Meeting meeting(world, [&] { return asked; });
    for (int64_t round = 0; round < 100 && world.rank() != 2; ++round) meeting.pass();
    asked = world.rank() == 1;
    try {
      // One goes on with its rounds, the others have finished.
      while (world.rank() == 0) meeting.pass();
      meeting.finish();
    } catch (const Interruption&) {
      ++interrupted;
    }
    EXPECT_EQ(world.sum(int64_t{1}), 3) << "at the same place in the sequence of collectives";
    asked = false;
    meeting.pass();
    meeting.finish();
  });
  EXPECT_EQ(interrupted, 3);
}

TEST(Meeting, ComesAboutOnceASecondHoweverShortARoundIs) {
  const auto alone = single_rank();
  int looks = 0;
  Meeting meeting(*alone, [&] { return ++looks > 1'000'000; });
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 1'000'000; ++round) meeting.pass();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(looks, 20 + 4 * seconds);
  meeting.finish();
  // Rounds that are long are looked at one by one, whatever was before.
  looks = 0;
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    meeting.pass();
  }
  EXPECT_GE(looks, 2);
}

}  // namespace
}  // namespace skein
