#include <chrono>
#include <thread>

#include "skein/comm/world.h"

#include "comm/mpi_main.h"

namespace {

// As a watchdog does: rank 1 ends the job from another thread while its own, like all others, waits
// in a call.
int end_from_another_thread() {
  const auto world = skein::start_world();
  if (world->rank() == 1) {
    std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      std::fputs("rank 1 ends the job\n", stderr);
      world->abort(75);
    }).detach();
  }
  std::byte never[1];
  world->recv_bytes(never, 1, world->rank() == 0 ? 1 : 0, 1).wait();
  return 0;
}

}  // namespace

int main(int argc, char**) {
  return argc > 1 ? end_from_another_thread() : skein::test::run_bodies(skein::start_world);
}
