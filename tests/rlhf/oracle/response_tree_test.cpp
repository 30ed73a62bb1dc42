#include "skein/rlhf/oracle/response_tree.h"

#include <gtest/gtest.h>
#include <set>

namespace skein::rlhf::oracle {
namespace {

using Symbols = std::vector<int32_t>;

TEST(ResponseTree, NumbersByLengthThenBySymbols) {
  const ResponseTree responses(2, 2);
  EXPECT_EQ(responses.size(), 7);
  EXPECT_EQ(responses.prefixes(), 3);
  EXPECT_EQ(responses.length(), 2);
  const std::vector<Symbols> expected = {{}, {0}, {1}, {0, 0}, {0, 1}, {1, 0}, {1, 1}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(responses.symbols_of(static_cast<int64_t>(i)), expected[i]);
    EXPECT_EQ(responses.find(expected[i]), static_cast<int64_t>(i));
    EXPECT_EQ(responses.ended(static_cast<int64_t>(i)), expected[i].size() < 2);
  }
  EXPECT_EQ(responses.tokens_in(0), 1);
  EXPECT_EQ(responses.tokens_in(2), 2);
  EXPECT_EQ(responses.tokens_in(6), 2);
}

TEST(ResponseTree, EveryResponseOnceAndBelowItsBeginning) {
  const ResponseTree responses(3, 5);
  EXPECT_EQ(responses.size(), 364);
  std::set<Symbols> seen;
  for (int64_t i = 0; i < responses.size(); ++i) {
    const Symbols symbols = responses.symbols_of(i);
    EXPECT_TRUE(seen.insert(symbols).second);
    EXPECT_EQ(responses.symbols_in(i), static_cast<int64_t>(symbols.size()));
    if (i == 0) continue;
    EXPECT_EQ(responses.symbols_of(responses.parent(i)),
              Symbols(symbols.begin(), symbols.end() - 1));
    EXPECT_EQ(responses.child(responses.parent(i), symbols.back()), i);
    EXPECT_EQ(responses.last_symbol(i), symbols.back());
  }
}

TEST(ResponseTree, OneSymbolAndOneToken) {
  const ResponseTree line(1, 4);
  EXPECT_EQ(line.size(), 5);
  EXPECT_EQ(line.symbols_of(4), Symbols(4, 0));
  EXPECT_FALSE(line.ended(4));
  const ResponseTree flat(5, 1);
  EXPECT_EQ(flat.size(), 6);
  EXPECT_EQ(flat.prefixes(), 1);
  EXPECT_EQ(flat.symbols_of(5), Symbols{4});
}

TEST(ResponseTree, CountsNeverOverflow) {
  EXPECT_EQ(ResponseTree::count(3, 5), 364);
  EXPECT_GT(ResponseTree::count(1000, 1000), 1e18);
  EXPECT_EQ(ResponseTree::count(1, 1000), 1001);
}

}  // namespace
}  // namespace skein::rlhf::oracle
