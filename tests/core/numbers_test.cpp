#include "skein/core/numbers.h"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>

#include "support/expect_error.h"

namespace skein {
namespace {

template <class To, class From>
std::string refusal(From value) {
  return test::error_text(ExitCode::internal, [&] { narrow<To>(value); });
}

TEST(Numbers, NarrowKeepsWhatFits) {
  EXPECT_EQ(narrow<int32_t>(int64_t{INT32_MAX}), INT32_MAX);
  EXPECT_EQ(narrow<int32_t>(int64_t{INT32_MIN}), INT32_MIN);
  EXPECT_EQ(narrow<uint32_t>(size_t{UINT32_MAX}), UINT32_MAX);
  EXPECT_EQ(narrow<size_t>(0), 0u);
  static_assert(narrow<int16_t>(-32768) == -32768);
}

TEST(Numbers, NarrowRefusesWhatDoesNotFit) {
  const std::string beyond = refusal<int32_t>(int64_t{1} << 31);
  EXPECT_NE(beyond.find("narrow: 2147483648 does not fit 4 bytes"), std::string::npos) << beyond;
  EXPECT_NE(beyond.find("numbers_test.cpp:"), std::string::npos) << beyond;
  EXPECT_NE(refusal<int>(SIZE_MAX), "");
  EXPECT_NE(refusal<uint32_t>(-1), "");
  EXPECT_NE(refusal<size_t>(int64_t{-1}), "");
}

TEST(Numbers, RatioOfCountsIsNoWholeNumber) {
  EXPECT_EQ(ratio(int64_t{1}, int64_t{3}), 1.0 / 3);
  EXPECT_EQ(ratio(size_t{1}, int64_t{-4}), -0.25);
}

}  // namespace
}  // namespace skein
