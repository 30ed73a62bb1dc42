#include "skein/text/split/words.h"

#include <gtest/gtest.h>

namespace skein::text {
namespace {

using Words = std::vector<std::string>;

TEST(Words, FoldingForgetsCaseAndWhiteSpace) {
  EXPECT_EQ(folded("  The\tCAPITAL \n is\u00a0Paris. "), "the capital is paris.");
  EXPECT_EQ(folded("E\u0301T\u00c9"), "\u00e9t\u00e9");
  EXPECT_EQ(folded(" \n "), "");
  EXPECT_EQ(folded("A\xff B"), "a\xff b");
}

TEST(Words, AreHeldTogetherByOneApostropheOrHyphen) {
  EXPECT_EQ(folded_words("Don't stop: the well-known \u201cca\u0301f\u00e9\u201d!"),
            (Words{"don't", "stop", "the", "well-known", "c\u00e1f\u00e9"}));
  EXPECT_EQ(folded_words("'quoted' -- a--b c- -d it\u2019s"),
            (Words{"quoted", "a", "b", "c", "d", "it\u2019s"}));
  EXPECT_EQ(folded_words("3.5 x_1"), (Words{"3", "5", "x_1"}));
  EXPECT_EQ(folded_words(" ...! "), Words{});
  EXPECT_EQ(folded_words("a\xff"
                         "b"),
            (Words{"a", "b"}));
}

TEST(Words, BrokenBytesAreReplaced) {
  EXPECT_EQ(with_valid_utf8("a\xc3\xa9"
                            "b"),
            "a\u00e9b");
  EXPECT_EQ(with_valid_utf8("a\xff\xc3"), "a\ufffd\ufffd");
  EXPECT_EQ(with_valid_utf8(""), "");
}

}  // namespace
}  // namespace skein::text
