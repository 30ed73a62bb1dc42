#include "skein/formats/crc32c.h"

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

namespace skein::formats {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Pseudo-random, but the same every time.
std::vector<std::byte> noise(size_t count) {
  std::vector<std::byte> bytes(count);
  uint32_t state = 12345;
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

TEST(Crc32c, GivesTheCheckValue) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c_by_table(bytes_of("123456789")), 0xE3069283u);
}

// RFC 3720, appendix B.4.
TEST(Crc32c, GivesTheValuesOfTheISCSIStandard) {
  std::string text(32, '\0');
  EXPECT_EQ(crc32c(bytes_of(text)), 0x8A9136AAu);
  text.assign(32, '\xff');
  EXPECT_EQ(crc32c(bytes_of(text)), 0x62A8AB43u);
  for (size_t i = 0; i < 32; ++i) text[i] = static_cast<char>(i);
  EXPECT_EQ(crc32c(bytes_of(text)), 0x46DD794Eu);
  for (size_t i = 0; i < 32; ++i) text[i] = static_cast<char>(31 - i);
  EXPECT_EQ(crc32c(bytes_of(text)), 0x113FDB5Cu);
}

TEST(Crc32c, OfNothingLeavesTheSumAlone) {
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c({}, 0xE3069283u), 0xE3069283u);
}

TEST(Crc32c, BothPathsAgreeAtEveryLengthAndAlignment) {
  const std::vector<std::byte> bytes = noise(400);
  for (size_t begin = 0; begin < 9; ++begin)
    for (size_t count = 0; begin + count <= bytes.size(); ++count) {
      const auto part = std::span(bytes).subspan(begin, count);
      ASSERT_EQ(crc32c(part), crc32c_by_table(part)) << begin << " " << count;
      ASSERT_EQ(crc32c(part, 0xDEADBEEFu), crc32c_by_table(part, 0xDEADBEEFu))
          << begin << " " << count;
    }
}

TEST(Crc32c, OfPartsChainsToTheSumOfTheWhole) {
  const std::vector<std::byte> bytes = noise(100);
  const uint32_t whole = crc32c(bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const auto span = std::span<const std::byte>(bytes);
    EXPECT_EQ(crc32c(span.subspan(cut), crc32c(span.first(cut))), whole) << cut;
    EXPECT_EQ(crc32c_by_table(span.subspan(cut), crc32c_by_table(span.first(cut))), whole) << cut;
  }
}

TEST(Crc32c, OfPartsIsJoinedToTheSumOfTheWhole) {
  const std::vector<std::byte> bytes = noise(5000);
  const std::span all(bytes);
  for (const size_t at : {0, 1, 7, 8, 100, 1024, 4096, 4999, 5000})
    EXPECT_EQ(crc32c_joined(crc32c(all.first(at)), crc32c(all.subspan(at)),
                            static_cast<int64_t>(all.size() - at)),
              crc32c(all))
        << at;
}

TEST(Crc32c, NoticesEveryFlippedBit) {
  std::vector<std::byte> bytes = noise(64);
  const uint32_t whole = crc32c(bytes);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_NE(crc32c(bytes), whole) << bit;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
}

}  // namespace
}  // namespace skein::formats
