#include "skein/core/profile.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace skein {
namespace {

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }

TEST(Profile, KeepsNothingWhileNoneRuns) {
  { const Span span("before"); }
  Profile::start();
  EXPECT_TRUE(Profile::running());
  EXPECT_TRUE(Profile::stop().empty());
  EXPECT_FALSE(Profile::running());
}

TEST(Profile, SharesSumToTheWhole) {
  Profile::start();
  {
    const Span whole("whole");
    for (int i = 0; i < 2; ++i) {
      const Span part("part", 10, 5);
      pause();
      const Span inner("inner");
      pause();
    }
    pause();
  }
  const auto events = Profile::stop();
  ASSERT_EQ(events.size(), 5u);
  double sum = 0;
  for (const ProfileShare& share : shares_of(events)) {
    EXPECT_GE(share.seconds, 0.002) << share.name;
    if (share.name == "part") {
      EXPECT_EQ(share.count, 2);
      EXPECT_EQ(share.flops, 20);
    }
    sum += share.seconds;
  }
  EXPECT_NEAR(sum, static_cast<double>(events[0].end - events[0].begin) * 1e-9, 1e-9);
}

TEST(Profile, KeepsThreadsApartAndLeavesOpenSpansOut) {
  Profile::start();
  const Span open("open");
  std::thread([] { const Span other("other"); }).join();
  { const Span own("own"); }
  const auto events = Profile::stop();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_STREQ(events[0].name, "own");
  EXPECT_STREQ(events[1].name, "other");
  EXPECT_NE(events[0].thread, events[1].thread);
}

}  // namespace
}  // namespace skein
