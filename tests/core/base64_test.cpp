#include "skein/core/base64.h"

#include <gtest/gtest.h>

namespace skein {
namespace {

// Of RFC 4648, section 10.
TEST(Base64, KnownTexts) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(std::string("\0\xFF\xFE", 3)), "AP/+");
}

TEST(Base64, AnyBytesComeBack) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64(base64(bytes)), bytes);
    bytes.push_back(static_cast<char>(i * 37));
  }
}

TEST(Base64, OtherTextsAreNone) {
  for (const char* text : {"Zg=", "Zg", "Z===", "====", "Zh==", "Zm9=", "Zm8=Zm8=", "Zm 8", "Zm8\n",
                           "Zm8-", "\xC3\xA9zz"})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace skein
