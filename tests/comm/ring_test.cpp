#include "skein/comm/ring.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace skein {
namespace {

constexpr int kSizes[] = {2, 3, 4, 5, 8, 16};

TEST(Ring, EveryNeighbourIsReachedBothWays) {
  EXPECT_TRUE(ring_edges(1).empty());
  for (const int ranks : kSizes) {
    const auto edges = ring_edges(ranks);
    EXPECT_EQ(edges.size(), static_cast<size_t>(2 * ranks));
    for (int r = 0; r < ranks; ++r) {
      const int next = (r + 1) % ranks;
      EXPECT_EQ(std::count(edges.begin(), edges.end(), RingEdge{r, next, true}), 1);
      EXPECT_EQ(std::count(edges.begin(), edges.end(), RingEdge{next, r, false}), 1);
    }
  }
}

TEST(Ring, AMessageBetweenNeighboursHasOneEdge) {
  for (const int ranks : kSizes) {
    const auto edges = ring_edges(ranks);
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to)
        for (const int tag : {0, 1, 6, 7}) {
          const int apart = (to - from + ranks) % ranks;
          const auto carries = [&](const RingEdge& e) { return e.carries(from, to, tag, ranks); };
          EXPECT_EQ(std::count_if(edges.begin(), edges.end(), carries),
                    apart == 1 || apart == ranks - 1 ? 1 : 0);
        }
  }
}

TEST(Ring, FirstAndLastSendToEachOtherOverTwoEdges) {
  for (const int ranks : kSizes)
    for (const RingEdge& e : ring_edges(ranks))
      EXPECT_FALSE(e.carries(0, ranks - 1, 1 << 20, ranks) &&
                   e.carries(ranks - 1, 0, 1 << 20, ranks));
}

// Each rank connects its edges in the list's order, and an edge takes one round once both ends are
// there.
TEST(Ring, ConnectsInAFewRounds) {
  for (const int ranks : kSizes) {
    std::vector<int> free_at(static_cast<size_t>(ranks), 0);
    for (const RingEdge& e : ring_edges(ranks)) {
      int &a = free_at[static_cast<size_t>(e.from)], &b = free_at[static_cast<size_t>(e.to)];
      a = b = std::max(a, b) + 1;
    }
    EXPECT_LE(*std::max_element(free_at.begin(), free_at.end()), ranks % 2 ? 6 : 4) << ranks;
  }
}

}  // namespace
}  // namespace skein
