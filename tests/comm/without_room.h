// Storage that takes no bytes.
#pragma once

#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace skein::test {

// While it lives no file of this process may grow: a write gives EFBIG, as it gives ENOSPC on a full
// disk.
class WithoutRoom {
 public:
  WithoutRoom() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &limit_), 0);
    const rlimit none{0, limit_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  ~WithoutRoom() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, handler_);
  }
  WithoutRoom(const WithoutRoom&) = delete;
  WithoutRoom& operator=(const WithoutRoom&) = delete;

 private:
  void (*handler_)(int);
  rlimit limit_{};
};

}  // namespace skein::test
