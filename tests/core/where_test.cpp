#include "skein/core/where.h"

#include <gtest/gtest.h>
#include <thread>

namespace skein {
namespace {

TEST(Where, IsSetForAScopeAndNests) {
  EXPECT_EQ(where().str(), "outside of steps");
  {
    const WhereScope step = WhereScope::step(12);
    EXPECT_EQ(where().str(), "step 12");
    const WhereScope batch = WhereScope::micro_batch(3);
    {
      const WhereScope block = WhereScope::part("block.4");
      EXPECT_EQ(where().str(), "step 12, micro-batch 3, block.4");
    }
    EXPECT_EQ(where().str(), "step 12, micro-batch 3");
  }
  EXPECT_EQ(where().str(), "outside of steps");
}

TEST(Where, BelongsToItsThread) {
  const WhereScope step = WhereScope::step(1);
  std::thread([] { EXPECT_EQ(where().str(), "outside of steps"); }).join();
}

}  // namespace
}  // namespace skein
