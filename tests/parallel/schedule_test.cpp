#include "skein/parallel/schedule.h"

#include <gtest/gtest.h>

#include <set>

#include "skein/core/error.h"

namespace skein {
namespace {

// Walks all ranks' lists, honouring what each action waits for; false when none can go on.
bool completes(ScheduleKind kind, int stages, int micro_batches, int chunks) {
  std::vector<std::vector<Action>> lists;
  for (int s = 0; s < stages; ++s) lists.push_back(make_schedule(kind, s, stages, micro_batches, chunks));
  std::vector<size_t> at(lists.size(), 0);
  std::set<std::tuple<int, int, int>> done;
  const int pieces = stages * chunks;
  for (bool moved = true; moved;) {
    moved = false;
    for (int s = 0; s < stages; ++s) {
      auto& next = at[static_cast<size_t>(s)];
      const auto& list = lists[static_cast<size_t>(s)];
      if (next == list.size()) continue;
      const Action a = list[next];
      const int piece = a.chunk * stages + s;
      const bool ready = a.kind == Action::forward ? piece == 0 || done.contains({0, a.micro_batch, piece - 1})
                         : piece == pieces - 1     ? done.contains({0, a.micro_batch, piece})
                                                   : done.contains({1, a.micro_batch, piece + 1});
      if (!ready) continue;
      EXPECT_TRUE(done.insert({a.kind == Action::backward, a.micro_batch, piece}).second);
      ++next;
      moved = true;
    }
  }
  return done.size() == static_cast<size_t>(2 * pieces * micro_batches);
}

TEST(Schedule, EveryActionOnceAndNoDeadlock) {
  for (int stages : {1, 2, 3, 4})
    for (int m : {1, 2, 5, 12}) {
      EXPECT_TRUE(completes(ScheduleKind::gpipe, stages, m, 1));
      EXPECT_TRUE(completes(ScheduleKind::one_f_one_b, stages, m, 1));
      for (int chunks : {1, 2, 3}) EXPECT_TRUE(completes(ScheduleKind::interleaved, stages, m * stages, chunks));
    }
}

TEST(Schedule, LayersMustAddUp) {
  EXPECT_EQ(split_layers(7, 3, {}), (std::vector<int>{3, 2, 2}));
  EXPECT_EQ(split_layers(7, 2, {3, 4}), (std::vector<int>{3, 4}));
  EXPECT_THROW(split_layers(7, 2, {3, 3}), Error);
  EXPECT_THROW(split_layers(2, 3, {}), Error);
}

}  // namespace
}  // namespace skein
