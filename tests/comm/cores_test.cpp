#include "comm/cores.h"

#include <gtest/gtest.h>

namespace skein {
namespace {

TEST(Cores, ThreadsOfOneCoreStandTogether) {
  // Two sockets of two cores; second threads are numbered behind all first ones.
  const auto four = [](int cpu) { return cpu % 4; };
  EXPECT_EQ(by_core({0, 1, 2, 3, 4, 5, 6, 7}, four), (std::vector{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(by_core({6, 3, 2}, four), (std::vector{2, 6, 3})) << "of those the process may use";
  EXPECT_EQ(by_core({3, 1, 2}, [](int cpu) { return cpu; }), (std::vector{1, 2, 3}));
}

TEST(Cores, EveryCpuHereHasOne) {
  EXPECT_LE(first_of_core(0), 0);
  EXPECT_EQ(first_of_core(1 << 20), 1 << 20) << "there is no such CPU";
}

}  // namespace
}  // namespace skein
