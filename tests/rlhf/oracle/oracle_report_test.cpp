#include <limits>
#include <sstream>

#include "skein/rlhf/oracle/report.h"

#include "rlhf/oracle_policies.h"

namespace skein::rlhf::oracle {
namespace {

using namespace test;

struct Case {
  OracleLanguage language = parsed(kSmallLanguage);
  ResponseLogs chain = chain_logs(language);
  ResponseLogs best;

  Case() {
    for (const auto& logs : chain)
      best.push_back(best_logs(language.rewards[0].rewards, 0.5, logs));
  }
  OracleOutcome of(const ResponseLogs& policy) const {
    const OracleReward& reward = language.rewards[0];
    return {reward.text, 0.5, reward.closed, oracle_numbers(language, reward, 0.5, chain, policy)};
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(OracleReport, OutcomesPassOnlyWhereAllIsWell) {
  const Case small;
  EXPECT_TRUE(small.of(small.best).passed());
  EXPECT_FALSE(small.of(small.chain).passed());
  OracleOutcome outcome = small.of(small.best);
  outcome.sampled_above = true;
  EXPECT_FALSE(outcome.passed());
  outcome = small.of(small.best);
  outcome.numbers.value = outcome.numbers.best + 0.1;
  EXPECT_FALSE(outcome.passed());
  outcome = small.of(small.best);
  outcome.least_closed = 0.97;
  outcome.numbers.value =
      outcome.numbers.reference + 0.9699 * (outcome.numbers.best - outcome.numbers.reference);
  EXPECT_FALSE(outcome.passed());
  outcome.numbers.value =
      outcome.numbers.reference + 0.9701 * (outcome.numbers.best - outcome.numbers.reference);
  EXPECT_TRUE(outcome.passed());
  outcome.numbers.value = std::nan("");
  EXPECT_FALSE(outcome.passed());
}

TEST(OracleReport, TableIsAlignedAndSaysWhatFailed) {
  const Case small;
  OracleOutcome above = small.of(small.best);
  above.reward = "contains A B";
  above.numbers.value += 0.25;
  above.sampled_above = true;
  const auto lines =
      lines_of(oracle_table(std::vector{small.of(small.best), small.of(small.chain), above}));
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_TRUE(lines[0].starts_with("reward "));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(lines[i].size(), lines[0].size());
  EXPECT_NE(lines[1].find("1.0000"), std::string::npos);
  EXPECT_TRUE(lines[1].ends_with("passed"));
  EXPECT_TRUE(lines[2].ends_with("FAILED"));
  EXPECT_NE(lines[4].find("length at beta 0.5: 0.0000 of the gap"), std::string::npos);
  EXPECT_NE(lines[4].find("0.97 is needed"), std::string::npos);
  EXPECT_NE(lines[5].find("contains A B at beta 0.5: the policy's J"), std::string::npos);
  EXPECT_NE(lines[6].find("training logged a mean return above J*"), std::string::npos);
  above = small.of(small.best);
  above.numbers.value = std::nan("");
  EXPECT_NE(oracle_table(std::vector{above}).find("nan of the gap"), std::string::npos);
  above.numbers.value = -std::nan("");
  EXPECT_EQ(oracle_table(std::vector{above}).find("-nan"), std::string::npos);
}

TEST(OracleReport, TableSaysWhichSettingsHaveAnotherOptimum) {
  const Case small;
  OracleOutcome open = small.of(small.chain), closed = small.of(small.best);
  open.caveats = closed.caveats = {"the KL is a loss"};
  const auto lines = lines_of(oracle_table(std::vector{open, closed}));
  ASSERT_EQ(lines.size(), 5u) << "nothing is said of the one that passed";
  EXPECT_EQ(lines[4], "length at beta 0.5: the KL is a loss");
}

TEST(OracleReport, DumpHoldsEveryResponse) {
  const Case small;
  ResponseLogs policy = odd_policy(small.language);
  policy[1][0] = -std::numeric_limits<double>::infinity();
  std::ostringstream out;
  write_oracle_dump(out, small.language, small.language.rewards[0], 0.5, small.chain, policy);
  const auto lines = lines_of(out.str());
  ASSERT_EQ(lines.size(), 31u);
  EXPECT_EQ(lines[0], "prompt\tresponse\tlog_reference\tlog_policy\tlog_best\treward");
  EXPECT_TRUE(lines[16].starts_with("A B\t</s>\t")) << lines[16];
  EXPECT_NE(lines[16].find("\t-inf\t"), std::string::npos);
  std::istringstream in(lines[5]);
  std::vector<std::string> fields;
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  ASSERT_EQ(fields.size(), 6u);
  EXPECT_EQ(fields[1], "A B </s>");
  EXPECT_EQ(std::stod(fields[2]), small.chain[0][4]);
  EXPECT_EQ(std::stod(fields[3]), policy[0][4]);
  EXPECT_EQ(std::stod(fields[4]), small.best[0][4]);
  EXPECT_EQ(std::stod(fields[5]), 2.0 / 3);
  EXPECT_TRUE(lines[15].starts_with("A\tB B B\t")) << lines[15];
  EXPECT_TRUE(lines[15].ends_with("\t-1"));
}

}  // namespace
}  // namespace skein::rlhf::oracle
