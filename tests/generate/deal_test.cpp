#include "skein/generate/deal.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace skein::generate {
namespace {

using Numbers = std::vector<size_t>;
using Prompts = std::vector<std::vector<int32_t>>;

TEST(Deal, LongOnesFirstAndOthersInTheirOrder) {
  const Prompts prompts{{1}, {2, 3}, {4}, {5, 6, 7}, {8, 9}};
  EXPECT_EQ(deal_prompts(prompts, 1), (std::vector<Numbers>{{3, 1, 4, 0, 2}}));
  EXPECT_EQ(deal_prompts(prompts, 2), (std::vector<Numbers>{{3, 4, 2}, {1, 0}}));
}

TEST(Deal, EqualNeighboursStayTogether) {
  const Prompts prompts{{1}, {1}, {2}, {2}, {1}, {1}, {3}, {3}};
  EXPECT_EQ(deal_prompts(prompts, 2), (std::vector<Numbers>{{0, 1, 4, 5}, {2, 3, 6, 7}}));
}

TEST(Deal, NoRunIsMoreThanAnEqualShare) {
  const Prompts prompts(10, {1, 2});
  EXPECT_EQ(deal_prompts(prompts, 4), (std::vector<Numbers>{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9}}));
}

TEST(Deal, EveryPromptOnce) {
  Prompts prompts;
  for (int32_t i = 0; i < 100; ++i)
    prompts.push_back(std::vector<int32_t>(static_cast<size_t>(i * 7 % 13), i / 3));
  for (int ranks : {1, 3, 8, 200}) {
    const auto dealt = deal_prompts(prompts, ranks);
    EXPECT_EQ(dealt.size(), static_cast<size_t>(ranks));
    Numbers all;
    size_t most = 0;
    for (const Numbers& part : dealt) {
      all.insert(all.end(), part.begin(), part.end());
      most = std::max(most, part.size());
    }
    EXPECT_LE(most, 100u / static_cast<size_t>(ranks) + 3);
    std::sort(all.begin(), all.end());
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
  }
  EXPECT_EQ(deal_prompts({}, 2), std::vector<Numbers>(2));
}

}  // namespace
}  // namespace skein::generate
