// How many answers are given to a prompt, what scores them, and which are kept.
#include "skein/rlhf/rewards/answers.h"

#include <gtest/gtest.h>

#include "rlhf/reward_fixture.h"

namespace skein::rlhf::rewards {
namespace {

AnswersConfig asked(int64_t each, KeptAnswers kept, const std::string& sources = "") {
  AnswersConfig c;
  c.each = each;
  c.kept = kept;
  c.rewards.sources = sources;
  return c;
}

KeptAnswers settled(AnswersConfig c, bool jsonl = true,
                    const generate::SamplingConfig& sampling = {}) {
  settle(c, jsonl, sampling);
  return c.kept;
}

void refused(const AnswersConfig& c, std::initializer_list<std::string> words, bool jsonl = true,
             const generate::SamplingConfig& sampling = {}) {
  test::expect_error(ExitCode::usage, words, [&] { settled(c, jsonl, sampling); });
}

TEST(Answers, AreKeptByTheirScoresWhereTheyHaveAny) {
  EXPECT_EQ(settled(asked(1, KeptAnswers::automatic)), KeptAnswers::all);
  EXPECT_EQ(settled(asked(4, KeptAnswers::automatic)), KeptAnswers::all);
  EXPECT_EQ(settled(asked(4, KeptAnswers::automatic, "ended")), KeptAnswers::best);
  EXPECT_EQ(settled(asked(4, KeptAnswers::all, "ended")), KeptAnswers::all);
  EXPECT_EQ(settled(asked(4, KeptAnswers::ranked, "ended")), KeptAnswers::ranked);
  EXPECT_EQ(settled(asked(1, KeptAnswers::best, "ended"), false), KeptAnswers::best);
}

TEST(Answers, AreEitherSampledOrSearched) {
  generate::BeamConfig none, four;
  four.size = 4;
  check(asked(3, KeptAnswers::automatic), none);
  check(asked(1, KeptAnswers::automatic), four);
  check(asked(1, KeptAnswers::all), four);
  const auto refused = [&](const AnswersConfig& c, const std::string& words) {
    test::expect_error(ExitCode::usage, {words}, [&] { check(c, four); });
  };
  refused(asked(3, KeptAnswers::automatic),
          "generate.answers=3 samples answers, and beam.size=4 searches for them; give beam.best");
  refused(asked(1, KeptAnswers::automatic, "ended"), "reward.sources score sampled answers");
  refused(asked(1, KeptAnswers::best), "generate.keep chooses among sampled answers");
}

TEST(Answers, ThatCannotBeAreRefused) {
  refused(asked(0, KeptAnswers::all), {"generate.answers=0 must be at least 1"});
  refused(asked(4, KeptAnswers::best),
          {"generate.keep=best compares scores, but reward.sources names"});
  refused(asked(4, KeptAnswers::ranked), {"generate.keep=ranked compares scores"});
  refused(asked(4, KeptAnswers::ranked, "ended"), {"give generate.format=jsonl, too"}, false);
  refused(asked(1, KeptAnswers::ranked, "ended"), {"from 2 to ", "not generate.answers=1"});
  refused(asked(1'000'000, KeptAnswers::ranked, "ended"), {"not generate.answers=1000000"});
}

TEST(Answers, ThatWouldBeTheSameAreRefused) {
  generate::SamplingConfig greedy;
  greedy.temperature = 0;
  refused(asked(3, KeptAnswers::all),
          {"the same answer 3 times", "sample.temperature=0 draws nothing"}, true, greedy);
  generate::SamplingConfig first;
  first.top_k = 1;
  refused(asked(3, KeptAnswers::all), {"sample.top_k=1 leaves one token to draw"}, true, first);
  EXPECT_EQ(settled(asked(1, KeptAnswers::all), true, greedy), KeptAnswers::all);
}

TEST(Answers, AreAskedForByOptions) {
  AnswersConfig c;
  Options options("skein generate", "Continues.");
  bind(options, c);
  options.set("generate.answers", "5", "the test");
  options.set("generate.keep", "ranked", "the test");
  options.set("reward.sources", "length:max=8", "the test");
  EXPECT_EQ(c.each, 5);
  EXPECT_EQ(c.kept, KeptAnswers::ranked);
  EXPECT_TRUE(c.scored());
}

TEST(Answers, AreScoredInSumAndBySource) {
  const auto world = single_rank();
  RewardMixture rewards = make_rewards("ended; 0.5*regex:a; regex:b", {*world});
  const std::vector<Answer> answers{test::answer("ab"), test::answer("b", "", 1, false),
                                    test::answer("c")};
  const AnswerScores scores = scores_of(rewards, answers);
  EXPECT_EQ(scores.sums, (std::vector<double>{2.5, 1, 1}));
  ASSERT_EQ(scores.sources.size(), 3u);
  EXPECT_EQ(scores.sources[0].first, "ended");
  EXPECT_EQ(scores.sources[0].second, (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(scores.sources[1].second, (std::vector<double>{1, 0, 0})) << "without the weight";
  EXPECT_EQ(scores.sources[2].first, "regex_2");
  const auto last = scores.of(1, 2);
  EXPECT_EQ(std::vector<double>(last.begin(), last.end()), (std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace skein::rlhf::rewards
