#include "skein/core/philox.h"

#include <gtest/gtest.h>

namespace skein {
namespace {

// Known answers of Random123 for philox4x32-10.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox(0, PhiloxBlock{0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~uint64_t{0}, PhiloxBlock{~0u, ~0u, ~0u, ~0u}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

}  // namespace
}  // namespace skein
