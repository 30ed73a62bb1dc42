#include "skein/rlhf/oracle/reward.h"

#include "rlhf/oracle_fixtures.h"

namespace skein::rlhf::oracle {
namespace {

using namespace test;

// Of an alphabet A B and at most 3 tokens, without anything for responses that did not end.
std::string language_with(const std::string& rewards) {
  return kSmallChain + "prompt 1 A\nresponse 3\n" + rewards;
}

// By response, as "AB$".
std::map<std::string, double> scores(const std::string& reward) {
  const OracleLanguage language = parsed(language_with("reward " + reward + "\nbeta 1\n"));
  std::map<std::string, double> made;
  for (int64_t i = 0; i < language.responses.size(); ++i)
    made[letters(language, i)] = language.rewards.at(0).scores.at(static_cast<size_t>(i));
  EXPECT_EQ(made.size(), 15u);
  return made;
}

void refuse_rewards(const std::string& lines, std::initializer_list<std::string> words) {
  SCOPED_TRACE(lines);
  expect_error(ExitCode::usage, words, [&] { parsed(language_with(lines)); });
}

TEST(OracleReward, Palindrome) {
  const auto plain = scores("palindrome");
  for (const char* yes : {"AA$", "BB$", "ABA", "AAA", "BBB", "BAB"})
    EXPECT_EQ(plain.at(yes), 1) << yes;
  for (const char* no : {"$", "A$", "B$", "AB$", "BA$", "AAB", "ABB", "BBA", "BAA"})
    EXPECT_EQ(plain.at(no), 0) << no;
  const auto any = scores("palindrome shortest=0");
  for (const char* yes : {"$", "A$", "B$", "AA$"}) EXPECT_EQ(any.at(yes), 1) << yes;
  EXPECT_EQ(scores("palindrome shortest=3").at("AA$"), 0);
}

TEST(OracleReward, GradedPalindromeIsTheShareOfPairs) {
  const NamedReward& palindrome = named_rewards().at(0);
  const std::vector<int32_t> symbols = {0, 1, 0, 0, 0};
  const RewardArguments graded{{{"graded", 1}}, {}};
  EXPECT_EQ(palindrome.score({symbols, true, 9}, graded), 0.5);
  EXPECT_EQ(palindrome.score({symbols, true, 9}, {}), 0);
  EXPECT_EQ(scores("palindrome graded=1 shortest=1").at("B$"), 1);
  EXPECT_EQ(scores("palindrome graded=1").at("AB$"), 0);
}

TEST(OracleReward, Length) {
  const auto plain = scores("length");
  EXPECT_EQ(plain.at("$"), 0);
  EXPECT_DOUBLE_EQ(plain.at("B$"), 1.0 / 3);
  EXPECT_EQ(plain.at("AAB"), 1);
  const auto one = scores("length target=1");
  EXPECT_EQ(one.at("A$"), 1);
  EXPECT_EQ(one.at("$"), 0.5);
  EXPECT_EQ(one.at("AB$"), 0.5);
  EXPECT_EQ(one.at("ABA"), 0);
  EXPECT_EQ(scores("length target=0").at("$"), 1);
}

TEST(OracleReward, SymbolsWithinAndAtTheEnds) {
  EXPECT_DOUBLE_EQ(scores("count B").at("BAB"), 2.0 / 3);
  EXPECT_EQ(scores("count B").at("AA$"), 0);
  const auto contains = scores("contains A B"), begins = scores("begins A B"),
             ends = scores("ends A B");
  EXPECT_EQ(contains.at("BAB"), 1);
  EXPECT_EQ(contains.at("ABB"), 1);
  EXPECT_EQ(contains.at("BBA"), 0);
  EXPECT_EQ(contains.at("$"), 0);
  EXPECT_EQ(begins.at("ABB"), 1);
  EXPECT_EQ(begins.at("BAB"), 0);
  EXPECT_EQ(begins.at("A$"), 0);
  EXPECT_EQ(ends.at("BAB"), 1);
  EXPECT_EQ(ends.at("AB$"), 1);
  EXPECT_EQ(ends.at("ABA"), 0);
  EXPECT_EQ(ends.at("B$"), 0);
}

TEST(OracleReward, EndedScaleAndOffset) {
  const auto plain = scores("ended"), scaled = scores("ended scale=-2 offset=0.5");
  EXPECT_EQ(plain.at("AB$"), 1);
  EXPECT_EQ(plain.at("ABA"), 0);
  EXPECT_EQ(scaled.at("AB$"), -1.5);
  EXPECT_EQ(scaled.at("ABA"), 0.5);
}

TEST(OracleReward, Tables) {
  const auto listed =
      scores("table default=-0.5 scale=2\nscore 1.5 A B </s>\nscore 1/4 </s>\nscore 3 B B B");
  EXPECT_EQ(listed.at("AB$"), 3);
  EXPECT_EQ(listed.at("$"), 0.5);
  EXPECT_EQ(listed.at("BBB"), 6);
  EXPECT_EQ(listed.at("ABA"), -1);
  std::string every = "unended replace 0\nreward table\nbeta 1\n";
  int value = 0;
  for (const char* response : {"", "A ", "B ", "A A ", "A B ", "B A ", "B B "})
    every += "score " + std::to_string(value++) + " " + response + "</s>\n";
  EXPECT_EQ(parsed(language_with(every)).rewards.at(0).rewards.at(5), 5);
}

TEST(OracleReward, TablesThatCannotBe) {
  const std::string table = "reward table default=0\nbeta 1\n";
  refuse_rewards("reward table\nbeta 1\nscore 1 </s>\n",
                 {"x.txt:10:", "does not list 'A </s>'", "default=0"});
  refuse_rewards(table + "score 1 A A A A </s>\n", {"x.txt:12:", "no response", "5 tokens"});
  refuse_rewards(table + "score 1 A B\n", {"x.txt:12:", "no response", "2 tokens"});
  refuse_rewards(table + "score 1 A </s> A\n", {"x.txt:12:", "</s>", "cannot stand here"});
  refuse_rewards(table + "score 1 A C </s>\n", {"x.txt:12:", "'C' is no symbol"});
  refuse_rewards(table + "score 1\n", {"x.txt:12:", "1 words", "score 1.5 A </s>"});
  refuse_rewards(table + "score one A </s>\n", {"x.txt:12:", "the score", "'one'"});
  refuse_rewards(table + "score inf A </s>\n", {"x.txt:12:", "'inf'"});
  refuse_rewards(table + "score 1 A </s>\nscore 1 A </s>\n", {"x.txt:13:", "has a score already"});
  refuse_rewards(table + "score 2e6 A </s>\n", {"x.txt:12:", "2e6", "between"});
  refuse_rewards("unended replace -1\n" + table + "score 1 A A A\n",
                 {"x.txt:13:", "never used", "-1"});
  refuse_rewards("reward ended\nbeta 1\nscore 1 A </s>\n", {"x.txt:12:", "ended", "not a table"});
}

TEST(OracleReward, RewardsThatCannotBe) {
  refuse_rewards("", {"x.txt has no reward"});
  refuse_rewards("reward\n", {"x.txt:10:", "followed by nothing", "palindrome, length"});
  refuse_rewards("reward beauty\nbeta 1\n", {"x.txt:10:", "'beauty' is unknown", "palindrome"});
  refuse_rewards("reward count\nbeta 1\n", {"x.txt:10:", "0 symbols", "takes one"});
  refuse_rewards("reward count A B\nbeta 1\n", {"x.txt:10:", "2 symbols", "takes one"});
  refuse_rewards("reward contains\nbeta 1\n", {"x.txt:10:", "one or more"});
  refuse_rewards("reward length A\nbeta 1\n", {"x.txt:10:", "takes none"});
  refuse_rewards("reward count C\nbeta 1\n", {"x.txt:10:", "'C' is no symbol"});
  refuse_rewards("reward length goal=2\nbeta 1\n",
                 {"x.txt:10:", "length has no 'goal'", "target, scale"});
  refuse_rewards("reward length target=4\nbeta 1\n",
                 {"x.txt:10:", "target is 4", "between 0 and 3"});
  refuse_rewards("reward length target=1 target=2\nbeta 1\n",
                 {"x.txt:10:", "target is given twice"});
  refuse_rewards("reward length scale=1e6 offset=1\nbeta 1\n", {"x.txt:10:", "1000001", "between"});
  refuse_rewards("reward length scale=0\nbeta 1\n",
                 {"x.txt:10:", "0 for every response", "nothing to tune"});
  refuse_rewards("unended replace 1\nreward ended\nbeta 1\n",
                 {"x.txt:11:", "1 for every response"});
  refuse_rewards("reward palindrome graded=2\nbeta 1\n", {"x.txt:10:", "graded is 2"});
}

TEST(OracleReward, BetasAndThresholdsThatCannotBe) {
  refuse_rewards("reward ended\n", {"x.txt:10:", "has no beta", "beta 0.5"});
  refuse_rewards("reward ended\nbeta\n", {"x.txt:11:", "0 words"});
  refuse_rewards("reward ended\nbeta 0\n", {"x.txt:11:", "beta is 0", "between 1e-06"});
  refuse_rewards("reward ended\nbeta -1\n", {"x.txt:11:", "beta is -1"});
  refuse_rewards("reward ended\nbeta 1 2\nbeta 1\n", {"x.txt:12:", "beta 1 is given twice"});
  refuse_rewards("reward ended\nbeta 1\nclosed 1.1\n", {"x.txt:12:", "gap to close is 1.1"});
  refuse_rewards("reward ended\nbeta 1\nclosed 1\nclosed 1\n", {"x.txt:13:", "two lines 'closed'"});
  refuse_rewards("beta 1\nreward ended\n", {"x.txt:10:", "no line 'reward' stands above"});
}

}  // namespace
}  // namespace skein::rlhf::oracle
