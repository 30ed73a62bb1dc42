// Who is named of a job that stands still.
#include "skein/comm/standing.h"

#include <gtest/gtest.h>

namespace skein {
namespace {

using RankNumbers = std::vector<int>;

// Four ranks, 2 stages x 2 data-parallel, all of which wait for nobody after 10 collectives.
std::vector<Standing> four() {
  std::vector<Standing> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    Standing one;
    one.rank = rank;
    one.host = rank < 2 ? "a" : "b";
    one.process = 100 + rank;
    one.turns = {{"world", 0, 10}, {"data", rank / 2, 10}, {"pipeline", rank % 2, 10}};
    ranks.push_back(one);
  }
  return ranks;
}

// In the next collective of the group.
void wait_in(Standing& one, const std::string& group) {
  for (Turn& turn : one.turns)
    if (turn.group == group) {
      ++turn.turn;
      one.waiting = {"all-reduce in the " + group + " group", group, turn.turn, -1, 61};
    }
}
// For a message of the other stage.
void wait_for_stage(Standing& one, int stage) {
  one.waiting = {"receive in the pipeline group", "pipeline", 0, stage, 62};
}

TEST(Standing, ARankThatIsStoppedIsNamedByAllThatWaitForIt) {
  auto ranks = four();
  wait_in(ranks[0], "world");
  wait_in(ranks[1], "world");
  wait_in(ranks[2], "world");
  ranks[3].state = Standing::stopped;
  EXPECT_EQ(waited_for(ranks).ranks, (RankNumbers{3}));
  EXPECT_EQ(verdict(ranks),
            "the job stands still: rank 3 (host b, process 103) is stopped, by a signal or a "
            "debugger. 3 ranks wait; rank 0 (host a, process 100) waits 61 s for all-reduce in the "
            "world group");
}

// As where the storage of all of them hangs.
TEST(Standing, WhereNobodyWaitsAllAreTold) {
  auto ranks = four();
  ranks[1].state = Standing::blocked;
  const std::string text = verdict(ranks);
  EXPECT_TRUE(
      text.starts_with("the job stands still, and no rank waits for another through its "
                       "host: rank 0 (host a, process 100) sleeps, outside of any "
                       "exchange; rank 1 (host a, process 101) waits in the system"))
      << text;
  EXPECT_TRUE(
      text.ends_with("rank 3 (host b, process 103) sleeps, outside of any exchange. Look "
                     "at the storage of run.dir, and at the devices and what connects "
                     "them"))
      << text;
  ranks.push_back(ranks[3]);
  EXPECT_NE(verdict(ranks).find("; and 1 more. "), std::string::npos) << verdict(ranks);
}

TEST(Standing, AChainOfWaitsLeadsToItsEnd) {
  auto ranks = four();
  wait_in(ranks[0], "data");    // for 1
  wait_for_stage(ranks[1], 1);  // for 3
  wait_in(ranks[2], "data");    // for 3
  ranks[3].running = true;
  ranks[3].last = "barrier in the world group (step 4)";
  EXPECT_EQ(waited_for(ranks).ranks, (RankNumbers{3}));
  EXPECT_NE(verdict(ranks).find("rank 3 (host b, process 103) is running, outside of any exchange; "
                                "its last exchange was barrier in the world group (step 4). 3 "
                                "ranks wait; rank 1"),
            std::string::npos)
      << verdict(ranks);
}

// It went on without one collective, and now waits for the others elsewhere.
TEST(Standing, ARankThatLeftACollectiveOutIsBehind) {
  auto ranks = four();
  wait_in(ranks[0], "data");  // for 1
  wait_in(ranks[1], "world");
  wait_in(ranks[2], "world");
  wait_in(ranks[3], "world");
  ranks[2].turns[1].turn = ranks[3].turns[1].turn = 11;  // they have made theirs of "data"
  EXPECT_EQ(waited_for(ranks).ranks, (RankNumbers{1})) << "0 waits for 1, and 1 for 0";
  ranks[2].turns[1].turn = ranks[3].turns[1].turn = 10;
  EXPECT_EQ(waited_for(ranks).ranks, (RankNumbers{0, 1})) << "nobody can tell who is right";
}

// With two data-parallel ranks no third one has made what is lacking; what each did before tells.
TEST(Standing, OfACircleTheOneThatWentANewWayIsBehind) {
  auto ranks = four();
  wait_in(ranks[0], "data");
  wait_in(ranks[1], "world");
  wait_in(ranks[2], "data");
  wait_in(ranks[3], "data");
  for (Standing& one : ranks) one.new_in_step = 2, one.step = 7;
  ranks[1].new_in_step = 7;
  const Behind behind = waited_for(ranks);
  EXPECT_EQ(behind.ranks, (RankNumbers{1}));
  EXPECT_TRUE(behind.left_out);
  EXPECT_EQ(verdict(ranks).find(
                "the job stands still: rank 1 (host a, process 101) waits 61 s for "
                "all-reduce in the world group, which did not come next in "
                "earlier steps: an exchange may have been left out before it. "
                "4 ranks wait; rank 0 (host a, process 100) waits 61 s for all-reduce in the "
                "data group"),
            0u)
      << verdict(ranks);
}

// The same number of the group's collectives, but not the same one.
TEST(Standing, WhereAllHaveComeTheOneThatWentANewWayIsBehind) {
  auto ranks = four();
  for (Standing& one : ranks) wait_in(one, "world"), one.new_in_step = 2, one.step = 9;
  ranks[3].new_in_step = 3;
  EXPECT_EQ(waited_for(ranks).ranks, RankNumbers{}) << "that was long ago";
  ranks[3].new_in_step = 9;
  EXPECT_EQ(waited_for(ranks).ranks, (RankNumbers{3}));
  for (Standing& one : ranks) one.new_in_step = 9;
  EXPECT_EQ(waited_for(ranks).ranks, RankNumbers{}) << "as at the first validation";
}

TEST(Standing, WhereAllHaveComeNobodyIsBehind) {
  auto ranks = four();
  for (Standing& one : ranks) wait_in(one, "world");
  EXPECT_EQ(waited_for(ranks).ranks, RankNumbers{});
  EXPECT_NE(verdict(ranks).find("look at the network between them"), std::string::npos);
}

TEST(Standing, ASilentHostIsNamedWithAllOfItsRanks) {
  auto ranks = four();
  wait_in(ranks[0], "world");
  wait_in(ranks[1], "world");
  ranks[2].state = ranks[3].state = Standing::silent;
  EXPECT_EQ(waited_for(ranks).ranks, (RankNumbers{2, 3}));
}

}  // namespace
}  // namespace skein
