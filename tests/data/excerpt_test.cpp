#include "skein/data/files/excerpt.h"

#include <gtest/gtest.h>

namespace skein {
namespace {

TEST(Excerpt, ShowsTextAsItIs) {
  EXPECT_EQ(excerpt("plain \"text\"\tand gr\u00FCn"), "plain \"text\"\tand gr\u00FCn");
  EXPECT_EQ(excerpt(std::string(199, 'a') + "\u00FC tail"), std::string(199, 'a') + "...");
  EXPECT_EQ(listed({"one", "two"}), "one, two");
}

TEST(Excerpt, ShowsBytesThatAreNoTextByTheirNumbers) {
  EXPECT_EQ(excerpt("\x1B[2Jred\x7F\n"), "\\x1B[2Jred\\x7F\\x0A");
  EXPECT_EQ(excerpt(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(excerpt("\xFF gr\xC3\xBCn \xC3"), "\\xFF gr\u00FCn \\xC3");
  EXPECT_EQ(listed({"\xFE", "b"}), "\\xFE, b");
}

}  // namespace
}  // namespace skein
