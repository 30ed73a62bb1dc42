// The main of a program that runs under mpirun: every body, one line "N passed".
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <memory>

#include "comm/mpi_body.h"

namespace skein::test {

inline int run_bodies(const std::function<std::unique_ptr<Group>()>& start) {
  std::unique_ptr<Group> world;
  try {
    world = start();
    check_collectives(*world);
    if (world->rank() == 0) std::printf("%zu passed\n", bodies().size());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    if (world) world->abort(1);
    return 1;
  }
}

}  // namespace skein::test
