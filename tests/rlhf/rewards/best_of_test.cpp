// Answers to one prompt are told apart by their scores, and each is the same whatever is asked for
// beside it.
#include "skein/rlhf/rewards/best_of.h"

#include <gtest/gtest.h>
#include <set>

namespace skein::rlhf::rewards {
namespace {

TEST(BestOf, DrawsDoNotDependOnHowManyAreAskedFor) {
  const auto one = answer_draws(3, 1), two = answer_draws(2, 2), four = answer_draws(3, 4);
  EXPECT_EQ(one, (std::vector<uint64_t>{0, 1, 2}))
      << "the numbers that Generator gives prompts by itself";
  ASSERT_EQ(four.size(), 12u);
  for (size_t prompt = 0; prompt < 3; ++prompt) EXPECT_EQ(four[prompt * 4], one[prompt]);
  for (size_t prompt = 0; prompt < 2; ++prompt)
    for (size_t answer = 0; answer < 2; ++answer)
      EXPECT_EQ(four[prompt * 4 + answer], two[prompt * 2 + answer]);
  EXPECT_EQ(std::set<uint64_t>(four.begin(), four.end()).size(), four.size());
}

TEST(BestOf, TakesTheHighestAndOfEqualOnesTheFirst) {
  EXPECT_EQ(best_of(std::vector<double>{-1, 3, 2, 3}), 1u);
  EXPECT_EQ(best_of(std::vector<double>{0}), 0u);
}

TEST(BestOf, RanksFromTheBestOn) {
  const std::vector<std::string> answers{"a", "b", "c", "d"};
  const RankedAnswers found = ranked_answers(answers, std::vector<double>{1, 5, 1, -2});
  EXPECT_EQ(found.order, (std::vector<size_t>{1, 0, 2, 3}));
  EXPECT_EQ(found.ranks, (std::vector<int64_t>{1, 2, 2, 4}));
}

TEST(BestOf, RanksAnswersThatReadTheSameOnce) {
  const std::vector<std::string> answers{" yes", "no", "yes\n", ""};
  const RankedAnswers found = ranked_answers(answers, std::vector<double>{1, 0, 2, 3});
  EXPECT_EQ(found.order, (std::vector<size_t>{3, 2, 1}));
  EXPECT_EQ(found.ranks, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(
      ranked_answers(std::vector<std::string>{"x", "x "}, std::vector<double>{1, 1}).order.size(),
      1u);
}

}  // namespace
}  // namespace skein::rlhf::rewards
