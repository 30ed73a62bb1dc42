// Where a process listens.
#pragma once

#include <fmt/format.h>
#include <string>

namespace skein::tcp {

struct Address {
  std::string host;
  int port = 0;

  // "node7:4711", "[::1]:4711"
  std::string str() const {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                               : fmt::format("[{}]:{}", host, port);
  }
};

}  // namespace skein::tcp
