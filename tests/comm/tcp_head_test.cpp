// What a rank may say to another, and what it may not.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>

#include "skein/comm/tcp/head.h"

namespace skein {
namespace {

TEST(TcpHead, WhatRanksSendIsTaken) {
  for (const tcp::TcpHead& head :
       {tcp::TcpHead{}, tcp::TcpHead{.group = 7, .tag = -3, .bytes = int64_t{1} << 40},
        tcp::TcpHead{.kind = tcp::TcpKind::goodbye}, tcp::TcpHead{.kind = tcp::TcpKind::farewell},
        tcp::TcpHead{.kind = tcp::TcpKind::loss, .code = 0},
        tcp::TcpHead{.kind = tcp::TcpKind::loss, .code = 2},
        tcp::TcpHead{.kind = tcp::TcpKind::abort, .code = 1},
        tcp::TcpHead{.kind = tcp::TcpKind::abort, .code = 75},
        tcp::TcpHead{.kind = tcp::TcpKind::abort, .code = 143}})
    EXPECT_EQ(fault_of(head, 3), "");
}

TEST(TcpHead, UnknownKindsAreNamed) {
  for (const int kind : {-1, 5, 99, std::numeric_limits<int>::min()}) {
    EXPECT_EQ(tcp::fault_of({.kind = static_cast<tcp::TcpKind>(kind)}, 3),
              fmt::format("a message of unknown kind {}", kind));
  }
}

TEST(TcpHead, SizesThatAreNoneAreNamed) {
  EXPECT_EQ(tcp::fault_of({.bytes = -5}, 3), "a message of -5 bytes");
  EXPECT_NE(tcp::fault_of({.bytes = std::numeric_limits<int64_t>::min()}, 3), "");
}

TEST(TcpHead, WhatHasNoContentBringsNone) {
  for (const tcp::TcpKind kind :
       {tcp::TcpKind::goodbye, tcp::TcpKind::farewell, tcp::TcpKind::loss, tcp::TcpKind::abort}) {
    const int code = kind == tcp::TcpKind::abort ? 1 : 0;
    EXPECT_NE(tcp::fault_of({.kind = kind, .code = code, .bytes = 8}, 3), "");
    EXPECT_NE(tcp::fault_of({.kind = kind, .code = code, .group = 1}, 3), "");
    EXPECT_NE(tcp::fault_of({.kind = kind, .code = code, .tag = 1}, 3), "");
    EXPECT_EQ(tcp::fault_of({.kind = kind, .code = code}, 3), "");
  }
}

TEST(TcpHead, CodesThatAPeerMayNotGiveAreNamed) {
  for (const int code : {0, -1, 256, 512, std::numeric_limits<int>::min()})
    EXPECT_EQ(tcp::fault_of({.kind = tcp::TcpKind::abort, .code = code}, 3),
              fmt::format("the exit code {}, which ends no job", code));
  // A request to stop ends a job that loads with these at once.
  for (const int code : {85, 130, 143})
    EXPECT_EQ(tcp::fault_of({.kind = tcp::TcpKind::abort, .code = code}, 3), "");
  for (const int rank : {-1, 3})
    EXPECT_EQ(tcp::fault_of({.kind = tcp::TcpKind::loss, .code = rank}, 3),
              fmt::format("the loss of rank {} of 3", rank));
  for (const tcp::TcpKind kind :
       {tcp::TcpKind::message, tcp::TcpKind::goodbye, tcp::TcpKind::farewell})
    EXPECT_EQ(tcp::fault_of({.kind = kind, .code = 1}, 3), "a message with code 1");
}

}  // namespace
}  // namespace skein
