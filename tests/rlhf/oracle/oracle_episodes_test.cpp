#include "skein/rlhf/oracle/episodes.h"

#include "rlhf/oracle_policies.h"

namespace skein::rlhf::oracle {
namespace {

using namespace test;
using Ids = std::vector<int32_t>;

TEST(OracleEpisodes, PromptsAreDrawnWithTheirSeparator) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const OraclePrompts prompts(language, 5);
  const OracleDraws draws(language, 5);
  int64_t second = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const rewards::Prompt prompt = prompts.at(i);
    const bool is_second = draws.prompt(i) == 1;
    second += is_second;
    EXPECT_EQ(prompt.tokens, is_second ? (Ids{0, 1, 3}) : (Ids{0, 3}));
    EXPECT_EQ(prompt.text(), is_second ? "A B" : "A");
  }
  EXPECT_NEAR(static_cast<double>(second), 250, 5 * std::sqrt(1000 * 0.25 * 0.75));
}

TEST(OracleEpisodes, EveryAnswerToEveryPrompt) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const std::vector<policy::Episode> episodes = oracle_episodes(language);
  ASSERT_EQ(episodes.size(), 30u);
  EXPECT_EQ(episodes[15].prompt.tokens, (Ids{0, 1, 3}));
  EXPECT_EQ(episodes[15].tokens, Ids{2});
  EXPECT_TRUE(episodes[15].path.ended);
  EXPECT_EQ(episodes[29].tokens, (Ids{1, 1, 1}));
  EXPECT_FALSE(episodes[29].path.ended);
  EXPECT_EQ(longest_answer(episodes), language.responses.length());
}

// A policy that is asked for its tokens gives the chain again.
TEST(OracleEpisodes, LogsOfTokensAreSummed) {
  const OracleLanguage language = parsed(kSmallLanguage);
  std::vector<policy::Episode> episodes = oracle_episodes(language);
  for (policy::Episode& episode : episodes) {
    int32_t last = episode.prompt.tokens[episode.prompt.tokens.size() - 2];
    for (const int32_t token : episode.tokens) {
      episode.path.logp.push_back(
          std::log(language.transitions[static_cast<size_t>(last)][static_cast<size_t>(token)]));
      last = token;
    }
  }
  const ResponseLogs logs = oracle_logs(language, episodes, &policy::Trajectory::logp),
                     chain = chain_logs(language);
  for (size_t x = 0; x < logs.size(); ++x)
    for (size_t y = 0; y < logs[x].size(); ++y) EXPECT_NEAR(logs[x][y], chain[x][y], 1e-14);
}

TEST(OracleEpisodes, ShapedScoresAreTheRewards) {
  for (const char* unended : {"unended keep\n", "unended replace -1\n", "unended replace 0.25\n",
                              "unended subtract 0.75\n"}) {
    SCOPED_TRACE(unended);
    std::string text = kSmallLanguage;
    const OracleLanguage language =
        parsed(text.replace(text.find("unended replace -1\n"), 19, unended));
    const OracleReward& reward = language.rewards[0];
    policy::ShapingConfig shaping{.estimator = policy::KlEstimator::k3};
    charge_unended(language, shaping);
    EXPECT_EQ(shaping.estimator, policy::KlEstimator::k3);
    for (int64_t y = 0; y < language.responses.size(); ++y)
      EXPECT_EQ(
          shaped_score(shaping, reward.scores[static_cast<size_t>(y)], language.responses.ended(y)),
          reward.rewards[static_cast<size_t>(y)]);
  }
}

TEST(OracleEpisodes, SpecialTokensAreBanned) {
  EXPECT_EQ(oracle_banned(parsed(kSmallLanguage)), (std::vector<int64_t>{3, 4}));
}

}  // namespace
}  // namespace skein::rlhf::oracle
