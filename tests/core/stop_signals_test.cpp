#include "skein/core/stop_signals.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace skein {
namespace {

constexpr int kAll[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};

bool is(int number, void (*handler)(int)) {
  struct sigaction now {};
  sigaction(number, nullptr, &now);
  return now.sa_handler == handler;
}

// Whatever the tests were started with.
class StopSignalsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const int number : kAll) std::signal(number, SIG_DFL);
  }
};

TEST_F(StopSignalsTest, AreNotedWhileSomebodyLooks) {
  for (const int number : kAll) {
    const StopSignals outer;
    EXPECT_EQ(stop_signal(), 0);
    {
      const StopSignals inner;
      raise(number);
      raise(number);
    }
    EXPECT_EQ(stop_signal(), number);
    raise(SIGTERM);
    EXPECT_EQ(stop_signal(), number) << "the first one counts";
  }
  for (const int number : kAll) EXPECT_TRUE(is(number, SIG_DFL)) << number;
}

TEST_F(StopSignalsTest, HaveNoEffectOnceTheyAreIgnored) {
  {
    const StopSignals looking;
    raise(SIGUSR2);
    ignore_stop_signals();
    for (const int number : kAll) {
      EXPECT_TRUE(is(number, SIG_IGN)) << number;
      raise(number);
    }
    EXPECT_EQ(stop_signal(), SIGUSR2);
  }
  for (const int number : kAll) EXPECT_TRUE(is(number, SIG_DFL)) << number;
  ignore_stop_signals();
  EXPECT_TRUE(is(SIGTERM, SIG_DFL)) << "of a program that never asked for them";
}

TEST_F(StopSignalsTest, LeaveHupIgnoredAsNohupDoes) {
  std::signal(SIGHUP, SIG_IGN);
  {
    const StopSignals looking;
    EXPECT_TRUE(is(SIGHUP, SIG_IGN));
    const auto changed = changed_signals();
    EXPECT_EQ(std::count(changed.begin(), changed.end(), SIGHUP), 0);
    EXPECT_EQ(changed.size(), 4u);
  }
  EXPECT_TRUE(is(SIGHUP, SIG_IGN));
  EXPECT_TRUE(changed_signals().empty());
}

// In processes of their own, for that is to their end.
using CaughtSignals = StopSignalsTest;

[[noreturn]] void wait_for_end() {
  sleep(20);
  _exit(99);
}

TEST_F(CaughtSignals, EndAtOnceWhileNobodyLooks) {
  const auto ended = [](int number) {
    catch_stop_signals([](int) { _exit(1); });
    catch_stop_signals(
        [](int signal) { _exit(signal == SIGUSR1 ? 85 : code_without_commit(signal)); });
    raise(number);
    wait_for_end();
  };
  EXPECT_EXIT(ended(SIGUSR1), testing::ExitedWithCode(85), "");
  EXPECT_EXIT(ended(SIGUSR2), testing::ExitedWithCode(143), "");
  EXPECT_EXIT(ended(SIGHUP), testing::ExitedWithCode(143), "");
  EXPECT_EXIT(ended(SIGINT), testing::ExitedWithCode(130), "");
}

TEST_F(CaughtSignals, AreNotedByWhoLooksAndEndAtOnceAfterwards) {
  const auto ended = [] {
    static std::atomic<bool> looked{false};
    catch_stop_signals([](int) { _exit(looked ? 85 : 3); });
    {
      const StopSignals looking;
      raise(SIGTERM);
      usleep(100'000);
      if (stop_signal() != SIGTERM) _exit(2);
    }
    usleep(100'000);  // what was noted is for the next to look
    looked = true;
    raise(SIGTERM);
    wait_for_end();
  };
  EXPECT_EXIT(ended(), testing::ExitedWithCode(85), "");
}

TEST_F(CaughtSignals, ChangeNothingForWhatEndsAlready) {
  const auto finished = [] {
    catch_stop_signals([](int) { _exit(85); });
    ignore_stop_signals();
    for (const int number : kAll) raise(number);
    usleep(100'000);
    _exit(7);
  };
  EXPECT_EXIT(finished(), testing::ExitedWithCode(7), "");
  const auto failed = [] {
    catch_stop_signals([](int) { _exit(85); });
    try {
      const StopSignals looking;
      throw std::runtime_error("no step any more");
    } catch (const std::runtime_error&) {
      raise(SIGTERM);
      usleep(100'000);
      _exit(1);
    }
  };
  EXPECT_EXIT(failed(), testing::ExitedWithCode(1), "");
}

TEST_F(CaughtSignals, AreCaughtAgainByWhoAsks) {
  const auto ended = [] {
    catch_stop_signals([](int) { _exit(1); });
    ignore_stop_signals();
    raise(SIGTERM);
    usleep(100'000);
    catch_stop_signals([](int) { _exit(2); });
    raise(SIGTERM);
    wait_for_end();
  };
  EXPECT_EXIT(ended(), testing::ExitedWithCode(2), "");
}

TEST_F(CaughtSignals, MakeErrorsOfWhatWritesMeet) {
  const auto written = [] {
    catch_stop_signals([](int) { _exit(1); });
    int ends[2];
    if (pipe(ends) != 0) _exit(2);
    close(ends[0]);
    if (write(ends[1], "x", 1) != -1 || errno != EPIPE) _exit(3);
    std::string name = (std::filesystem::temp_directory_path() / "skein-signals-XXXXXX").string();
    const int file = mkstemp(name.data());
    unlink(name.c_str());
    const rlimit none{0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    if (file < 0 || write(file, "x", 1) != -1 || errno != EFBIG) _exit(4);
    _exit(0);
  };
  EXPECT_EXIT(written(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace skein
