#include "skein/train/commit_schedule.h"

#include <gtest/gtest.h>

#include "skein/comm/local.h"

namespace skein::train {
namespace {

TEST(CommitSchedule, ByStepsAndByTheClock) {
  const auto alone = single_rank();
  double now = 100;
  const auto clock = [&] { return now; };
  const CommitSchedule steps({.every = 5}, clock), never({.every = 0}, clock);
  CommitSchedule minutes({.every = 0, .minutes = 2}, clock);
  for (int64_t step = 1; step <= 10; ++step) {
    EXPECT_EQ(steps.due(step, *alone), step % 5 == 0);
    EXPECT_FALSE(never.due(step, *alone));
    EXPECT_FALSE(minutes.due(step, *alone));
  }
  now += 120;
  EXPECT_TRUE(minutes.due(11, *alone));
  EXPECT_FALSE(never.due(11, *alone));
  minutes.begun(1);
  EXPECT_FALSE(minutes.due(12, *alone));
  EXPECT_EQ(steps.next_attempt("step"), "the next attempt is 5 steps away");
  EXPECT_EQ(minutes.next_attempt("step"), "the next attempt is 2m00s away");
}

// A commit of 2 s in a job that fails once in ten hours: every sqrt(2 * 2 * 36000) s.
TEST(CommitSchedule, AsOftenAsCostsLeast) {
  double now = 0;
  CommitSchedule best({.every = 0, .mean_time_between_failures = 10}, [&] { return now; });
  EXPECT_EQ(best.interval(), 60) << "the first one shows what it costs";
  best.begun(2);
  EXPECT_NEAR(best.interval(), 379.47, 0.01);
  best.begun(0);
  EXPECT_EQ(best.interval(), 10) << "no shorter than that";
  CommitSchedule both({.every = 0, .minutes = 3, .mean_time_between_failures = 10},
                      [&] { return now; });
  both.begun(2);
  EXPECT_EQ(both.interval(), 180);
}

TEST(CommitSchedule, TellsWhatTheyCost) {
  double now = 100;
  CommitSchedule schedule({.every = 5}, [&] { return now; });
  EXPECT_EQ(schedule.told_cost(), "");
  schedule.begun(0.2);
  now = 120;
  EXPECT_EQ(schedule.told_cost(), "training stood still for a checkpoint, 0.2 s: 1% of the time");
  schedule.begun(0.06);
  schedule.begun(0.04);
  EXPECT_EQ(schedule.told_cost(),
            "training stood still for 3 checkpoints, 0.2 s for the first and 0.05 s for each later "
            "one: 1.5% of the time");
}

// Ranks whose clocks differ do the same.
TEST(CommitSchedule, TheClockOfRankZeroCounts) {
  run_ranks(3, [](Group& world) {
    double now = 0;
    const CommitSchedule schedule({.every = 0, .minutes = 1}, [&] { return now; });
    now = world.rank() == 0 ? 61 : 0;
    EXPECT_TRUE(schedule.due(1, world));
    now = world.rank() == 0 ? 59 : 100;
    EXPECT_FALSE(schedule.due(1, world));
  });
}

}  // namespace
}  // namespace skein::train
