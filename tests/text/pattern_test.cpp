#include "skein/text/split/pattern.h"

#include <gtest/gtest.h>

#include "text/golden_files.h"

namespace skein {
namespace {

using Found = Pattern::Found;
using Extent = Pattern::Extent;

TEST(Pattern, IsFoundAnywhereOrAsAWhole) {
  EXPECT_EQ(Pattern("b+").find("abba"), Found::yes);
  EXPECT_EQ(Pattern("c").find("abba"), Found::no);
  EXPECT_EQ(Pattern("b+", Extent::whole).find("abba"), Found::no);
  EXPECT_EQ(Pattern("a|abba", Extent::whole).find("abba"), Found::yes);
  EXPECT_EQ(Pattern("a$", Extent::whole).find("a\n"), Found::no);
  EXPECT_EQ(Pattern("", Extent::whole).find(""), Found::yes);
}

TEST(Pattern, KnowsUnicodeAndReplacesBrokenBytes) {
  EXPECT_EQ(Pattern("^\\w{4}$").find("caf\u00e9"), Found::yes);
  EXPECT_EQ(Pattern("(?i)\u00c9").find("caf\u00e9"), Found::yes);
  EXPECT_EQ(Pattern("a\ufffdb")
                .find("a\xff"
                      "b"),
            Found::yes);
  EXPECT_EQ(Pattern("^.{3}$").find("a\xff"
                                   "b"),
            Found::yes);
}

TEST(Pattern, GivesUpWhereBacktrackingExplodes) {
  EXPECT_EQ(Pattern("^(a+)+$").find(std::string(60, 'a') + "b"), Found::too_much_work);
  EXPECT_EQ(Pattern("(a|aa)+", Extent::whole).find(std::string(60, 'a') + "b"),
            Found::too_much_work);
}

TEST(Pattern, MatchesDeeplyNestedText) {
  EXPECT_EQ(Pattern("^(?:(a)|b)*$").find(std::string(100'000, 'a')), Found::yes);
}

TEST(Pattern, ThatIsWrongIsRefused) {
  test::expect_refused({"regular expression a(b", "byte 3", "parenthesis"},
                       [] { Pattern pattern("a(b"); });
  test::expect_refused({"65537 bytes", "too long"},
                       [] { Pattern pattern(std::string(65537, 'a')); });
}

}  // namespace
}  // namespace skein
