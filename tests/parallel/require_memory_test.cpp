// Who is refused for want of memory, by what this machine has: far enough from the limit that other
// processes may take or free some meanwhile.
#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/core/host.h"
#include "skein/parallel/rank_memory.h"

namespace skein {
namespace {

// Ranks of this host that each keep that part of what can be taken here.
void require_part(int ranks, double part, int64_t micro_batch = 1) {
  MemoryShape shape;
  shape.others = part * static_cast<double>(host_limits().available);
  shape.parallel.data = 1;
  shape.micro_batch = micro_batch;
  shape.tokens = 1024;
  run_ranks(ranks, [&](Group& world) { require_memory(world, Device{}, {}, shape); });
}

std::string memory_refusal(int ranks, double part) {
  try {
    require_part(ranks, part);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(RequireMemory, LetsPassWhatMayFit) {
  EXPECT_NO_THROW(require_part(1, 0.7));
  EXPECT_NO_THROW(require_part(2, 0.35));
  EXPECT_NO_THROW(require_part(1, 0.1, 1 << 30)) << "activations are no more than an estimate";
}

TEST(RequireMemory, RefusesWhatAHostHasNotForAllOfItsRanks) {
  EXPECT_NE(memory_refusal(1, 1.5).find("the model does not fit: 1 rank keeps "),
            std::string::npos);
  const std::string both = memory_refusal(2, 0.8);
  EXPECT_NE(both.find("2 ranks keep "), std::string::npos) << both;
  EXPECT_NE(both.find(" can be taken on host " + host_name()), std::string::npos) << both;
}

}  // namespace
}  // namespace skein
