#include "skein/text/split/pattern.h"

#include <gtest/gtest.h>

#include "text/golden_files.h"

namespace skein::text {
namespace {

using Outcome = Pattern::Outcome;
using Extent = Pattern::Extent;

TEST(Pattern, IsFoundAnywhereOrAsAWhole) {
  EXPECT_EQ(Pattern("b+").find("abba"), Outcome::yes);
  EXPECT_EQ(Pattern("c").find("abba"), Outcome::no);
  EXPECT_EQ(Pattern("b+", Extent::whole).find("abba"), Outcome::no);
  EXPECT_EQ(Pattern("a|abba", Extent::whole).find("abba"), Outcome::yes);
  EXPECT_EQ(Pattern("a$", Extent::whole).find("a\n"), Outcome::no);
  EXPECT_EQ(Pattern("", Extent::whole).find(""), Outcome::yes);
}

TEST(Pattern, KnowsUnicodeAndReplacesBrokenBytes) {
  EXPECT_EQ(Pattern("^\\w{4}$").find("caf\u00e9"), Outcome::yes);
  EXPECT_EQ(Pattern("(?i)\u00c9").find("caf\u00e9"), Outcome::yes);
  EXPECT_EQ(Pattern("a\ufffdb")
                .find("a\xff"
                      "b"),
            Outcome::yes);
  EXPECT_EQ(Pattern("^.{3}$").find("a\xff"
                                   "b"),
            Outcome::yes);
}

TEST(Pattern, GivesUpWhereBacktrackingExplodes) {
  EXPECT_EQ(Pattern("^(a+)+$").find(std::string(60, 'a') + "b"), Outcome::too_much_work);
  EXPECT_EQ(Pattern("(a|aa)+", Extent::whole).find(std::string(60, 'a') + "b"),
            Outcome::too_much_work);
}

TEST(Pattern, MatchesDeeplyNestedText) {
  EXPECT_EQ(Pattern("^(?:(a)|b)*$").find(std::string(100'000, 'a')), Outcome::yes);
}

TEST(Pattern, ThatIsWrongIsRefused) {
  test::expect_refused({"regular expression a(b", "byte 3", "parenthesis"},
                       [] { Pattern pattern("a(b"); });
  test::expect_refused({"65537 bytes", "too long"},
                       [] { Pattern pattern(std::string(65537, 'a')); });
}

}  // namespace
}  // namespace skein::text
