// Linked before the collectives of Group (--wrap, see CMakeLists.txt): at its Nth one after the
// third step, rank R does what SKEIN_TEST_LATE=R:N:HOW says, and tells which that was: HOW is
// `loop`, `asleep`, or `too-few`, which leaves it out.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "skein/comm/group.h"
#include "skein/core/log.h"
#include "skein/core/where.h"

namespace skein {
namespace {

bool left_out(const Group& group, const char* what) {
  static std::atomic<long> begun = 0;
  static const char* const given = std::getenv("SKEIN_TEST_LATE");
  int rank = -1;
  long number = 0;
  char how[16] = "";
  if (!given || group.size() == 1) return false;
  if (std::sscanf(given, "%d:%ld:%15s", &rank, &number, how) != 3 || log::rank() != rank ||
      where().step < 4 || ++begun != number)
    return false;
  std::fprintf(stderr, "late: %s\n", what);
  for (volatile long turns = 0; std::strcmp(how, "loop") == 0;) turns = turns + 1;
  while (std::strcmp(how, "asleep") == 0) pause();
  return true;
}

}  // namespace

// A member function takes its object as the first argument.
#define LATE(name, symbol, what, parameters, ...)                             \
  Work real_##name parameters asm("__real_" symbol);                          \
  Work wrapped_##name parameters asm("__wrap_" symbol);                       \
  Work wrapped_##name parameters {                                            \
    return left_out(*group, what) ? Work() : real_##name(group, __VA_ARGS__); \
  }

LATE(all_reduce_sum, "_ZN5skein5Group14all_reduce_sumERKNS_6TensorE", "all-reduce",
     (Group * group, const Tensor& tensor), tensor)
LATE(reduce_scatter, "_ZN5skein5Group14reduce_scatterERKNS_6TensorES3_", "reduce-scatter",
     (Group * group, const Tensor& in, const Tensor& out), in, out)
LATE(all_gather, "_ZN5skein5Group10all_gatherERKNS_6TensorES3_", "all-gather",
     (Group * group, const Tensor& in, const Tensor& out), in, out)
LATE(broadcast, "_ZN5skein5Group9broadcastERKNS_6TensorEi", "broadcast",
     (Group * group, const Tensor& tensor, int root), tensor, root)

}  // namespace skein
