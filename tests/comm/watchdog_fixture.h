// A watchdog that looks when it is told to, by a clock that is set.
#pragma once

#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "skein/comm/watchdog.h"

#include "support/expect_error.h"

namespace skein::test {

class WatchdogTest : public testing::Test {
 protected:
  Watchdog::Settings settings() {
    Watchdog::Settings s;
    s.speaker = "rank 5 (host node3, GPU 1)";
    s.timeout = 60;
    s.interval = 0;
    s.end = [this](ExitCode code) { codes_.push_back(code); };
    s.say = [this](const std::string& message) { said_.push_back(message); };
    s.clock = [this] { return now_.load(); };
    return s;
  }
  void expect_said(const std::vector<std::string>& words) {
    ASSERT_EQ(said_.size(), 1u);
    expect_words(said_[0], words);
  }

  std::atomic<double> now_ = 1000;
  std::vector<ExitCode> codes_;
  std::vector<std::string> said_;
};

}  // namespace skein::test
