#include "skein/core/last_moment.h"

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

namespace skein {
namespace {

using std::chrono::milliseconds;

[[noreturn]] void hang() {
  for (;;) pause();
}

TEST(LastMoment, EndsWhatHangs) {
  const auto end = [] {
    end_anyway(milliseconds(20), 85);
    hang();
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(85), "");
}

// What is to end it may hang as well.
TEST(LastMoment, MayBeFollowedByAnother) {
  const auto end = [] {
    end_anyway(milliseconds(20), [] {
      std::fputs("told the others", stderr);
      end_anyway(milliseconds(20), 75);
      hang();
    });
    hang();
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(75), "told the others");
}

TEST(LastMoment, IsNoErrorWithoutThreads) {
  const auto end = [] {
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 50);
    if (pthread_setattr_default_np(&huge) != 0) std::_Exit(2);
    end_anyway(milliseconds(0), 1);
    usleep(50'000);
    std::_Exit(3);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(3), "");
}

TEST(LastMoment, TakesAwayWhatIsSet) {
  const auto end = [] {
    take_away_what_is_left();
    take_away_at_end([]() noexcept { std::fputs("taken away", stderr); });
    take_away_what_is_left();
    std::_Exit(3);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(3), "^taken away$");
}

}  // namespace
}  // namespace skein
