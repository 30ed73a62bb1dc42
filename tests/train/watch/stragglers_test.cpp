#include "skein/train/watch/stragglers.h"

#include <gtest/gtest.h>

namespace skein::train {
namespace {

using Finding = SlowRanks::Finding;

std::string text(const std::vector<Finding>& found) {
  std::string made;
  for (const auto& [rank, beyond] : found)
    made += fmt::format("{} by {:.0f}%;", rank, 100 * beyond);
  return made;
}

TEST(SlowRanks, OneIsToldAfterThreeWindowsAndOnlyOnce) {
  SlowRanks slow(4, 4);
  const std::vector<double> usual{10, 10.4, 9.9, 10.2}, held_up{10, 10.4, 12.9, 10.2};
  EXPECT_EQ(text(slow.add(held_up)), "");
  EXPECT_EQ(text(slow.add(held_up)), "");
  EXPECT_EQ(text(slow.add(held_up)), "2 by 25%;");
  EXPECT_EQ(text(slow.add(held_up)), "");
  EXPECT_EQ(text(slow.add(usual)), "");
  for (int window = 0; window < 2; ++window) EXPECT_EQ(text(slow.add(held_up)), "");
  EXPECT_EQ(text(slow.add(held_up)), "2 by 25%;");
}

TEST(SlowRanks, ATenthIsNotYetSlow) {
  SlowRanks slow(3, 3);
  for (int window = 0; window < 9; ++window) EXPECT_EQ(text(slow.add({10, 10, 11})), "");
}

// Stages of a pipeline may have different work.
TEST(SlowRanks, OnlyThoseThatDoTheSameAreCompared) {
  SlowRanks slow(6, 3);
  for (int window = 0; window < 2; ++window)
    EXPECT_EQ(text(slow.add({10, 10, 10, 20, 20, 23})), "");
  EXPECT_EQ(text(slow.add({10, 10, 10, 20, 20, 23})), "5 by 15%;");
  SlowRanks alone(2, 1);
  for (int window = 0; window < 9; ++window) EXPECT_EQ(text(alone.add({10, 20})), "");
}

TEST(SlowRanks, MomentsSayNothing) {
  SlowRanks slow(2, 2);
  for (int window = 0; window < 9; ++window) EXPECT_EQ(text(slow.add({0.01, 0.09})), "");
}

}  // namespace
}  // namespace skein::train
