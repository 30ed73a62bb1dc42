// A thread that neither exchanges nor computes.
#include <gtest/gtest.h>

#include "skein/comm/watchdog.h"

#include "watchdog_fixture.h"

namespace skein {
namespace {

using Silence = test::WatchdogTest;

// Storage that hangs keeps a thread outside of exchanges.
TEST_F(Silence, EndsTheJob) {
  const auto recorder = std::make_shared<FlightRecorder>();
  double computed = 0;
  Watchdog::Settings with = settings();
  with.host = recorder;
  with.silence = true;
  with.allowance = 5;
  with.computed = [&] { return computed; };
  Watchdog dog(with);
  recorder->enter("loading", now_);
  const auto look_after = [&](double seconds) {
    now_ = now_ + seconds;
    dog.look();
  };
  for (int i = 0; i < 4; ++i) {  // it computes, as little as a thread that writes
    computed += 1;
    look_after(60);
  }
  recorder->enter("saving", now_);
  look_after(60);
  recorder->begin(Exchange{"all-reduce", "tensor", 4 << 20}, 1, now_);
  look_after(60);
  recorder->end(now_);
  look_after(64);
  EXPECT_TRUE(said_.empty());
  computed += 0.1;  // looking costs that
  look_after(2);
  expect_said(
      {"rank 5 (host node3, GPU 1) has exchanged and computed nothing for 66 s (saving): its "
       "storage or a device may not answer"});
  EXPECT_EQ(codes_, std::vector{ExitCode::watchdog});
}

TEST_F(Silence, IsJudgedWhereItIsAskedFor) {
  const auto recorder = std::make_shared<FlightRecorder>();
  Watchdog::Settings with = settings();
  with.host = recorder;
  with.computed = [] { return 0.0; };
  Watchdog dog(with);
  recorder->enter("saving", now_);
  now_ = now_ + 1e6;
  dog.look();
  EXPECT_TRUE(said_.empty());
  with.silence = true;
  with.timeout = 0;
  Watchdog endless(with);
  endless.look();
  EXPECT_TRUE(said_.empty()) << "0 waits for ever";
  with.timeout = -1;
  Watchdog limited(with);
  recorder->took("saving", 40);
  recorder->enter("saving", now_);
  now_ = now_ + 119;
  limited.look();
  EXPECT_TRUE(said_.empty());
  now_ = now_ + 2;
  limited.look();
  expect_said({"for 121 s (saving)", "three times as long as the slowest phase"});
}

}  // namespace
}  // namespace skein
