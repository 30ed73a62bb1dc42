#include "skein/parallel/schedule.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>

#include "skein/core/error.h"

namespace skein {
namespace {

std::vector<double> equal(size_t layers) { return std::vector<double>(layers, 1.0); }

// Walks all ranks' lists, honouring what each action waits for; false when none can go on.
bool completes(ScheduleKind kind, int stages, int micro_batches, int chunks) {
  std::vector<std::vector<Action>> lists;
  for (int s = 0; s < stages; ++s)
    lists.push_back(make_schedule(kind, s, stages, micro_batches, chunks));
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
      const bool ready = a.kind == Action::forward
                             ? piece == 0 || done.contains({0, a.micro_batch, piece - 1})
                         : piece == pieces - 1 ? done.contains({0, a.micro_batch, piece})
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
      for (int chunks : {1, 2, 3})
        EXPECT_TRUE(completes(ScheduleKind::interleaved, stages, m * stages, chunks));
    }
}

// Time until all is done when a forward of one of `chunks` pieces takes forward / chunks, a
// backward backward / chunks, and messages take none; each rank carries out its list in order,
// waiting where it must.
double makespan(ScheduleKind kind, int stages, int micro_batches, int chunks, double forward,
                double backward) {
  std::map<std::tuple<bool, int, int>, double> finished;
  std::vector<std::vector<Action>> lists;
  for (int s = 0; s < stages; ++s)
    lists.push_back(make_schedule(kind, s, stages, micro_batches, chunks));
  std::vector<size_t> at(lists.size(), 0);
  std::vector<double> now(lists.size(), 0);
  const int pieces = stages * chunks;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t s = 0; s < lists.size(); ++s) {
      if (at[s] == lists[s].size()) continue;
      const Action a = lists[s][at[s]];
      const int piece = a.chunk * stages + static_cast<int>(s);
      const bool is_backward = a.kind == Action::backward,
                 turns = is_backward && piece == pieces - 1;
      const bool starts = !is_backward && piece == 0;
      const auto needed = finished.find({is_backward && !turns, a.micro_batch,
                                         turns         ? piece
                                         : is_backward ? piece + 1
                                                       : piece - 1});
      if (!starts && needed == finished.end()) continue;
      now[s] = std::max(now[s], starts ? 0 : needed->second) +
               (is_backward ? backward : forward) / chunks;
      finished[{is_backward, a.micro_batch, piece}] = now[s];
      ++at[s];
      moved = true;
    }
  }
  return *std::max_element(now.begin(), now.end());
}

// Narayanan et al. 2021, section 2.2: idle = (p - 1)(tf + tb), a v-th of that when interleaved.
TEST(Schedule, IdleTimeIsWhatTheFormulasSay) {
  const double forward = 1, backward = 2;
  for (int stages : {1, 2, 3, 4, 8})
    for (int groups : {1, 2, 3}) {
      const int m = groups * stages;
      const double ideal = m * (forward + backward), bubble = (stages - 1) * (forward + backward);
      EXPECT_NEAR(makespan(ScheduleKind::gpipe, stages, m, 1, forward, backward), ideal + bubble,
                  1e-9)
          << stages << " " << m;
      EXPECT_NEAR(makespan(ScheduleKind::one_f_one_b, stages, m, 1, forward, backward),
                  ideal + bubble, 1e-9)
          << stages << " " << m;
      for (int chunks : {2, 4})
        EXPECT_NEAR(makespan(ScheduleKind::interleaved, stages, m, chunks, forward, backward),
                    ideal + bubble / chunks, 1e-9)
            << stages << " " << m << " " << chunks;
    }
}

TEST(Schedule, OneForwardOneBackwardKeepsFewMicroBatches) {
  for (int stages : {1, 2, 4, 7})
    for (int m : {1, 3, 16})
      for (int s = 0; s < stages; ++s) {
        int held = 0, most = 0;
        for (const Action& a : make_schedule(ScheduleKind::one_f_one_b, s, stages, m, 1)) {
          held += a.kind == Action::forward ? 1 : -1;
          most = std::max(most, held);
        }
        EXPECT_EQ(held, 0);
        EXPECT_EQ(most, std::min(stages - s, m)) << stages << " " << m << " " << s;
      }
}

TEST(Schedule, KnowsHowManyMicroBatchesWaitForTheirBackward) {
  for (const ScheduleKind kind :
       {ScheduleKind::gpipe, ScheduleKind::one_f_one_b, ScheduleKind::interleaved})
    for (int chunks : {1, 2, 3})
      for (int stages : {1, 2, 4})
        for (int s = 0; s < stages; ++s)
          for (int m : {stages, 4 * stages}) {
            int held = 0, most = 0;
            for (const Action& a : make_schedule(kind, s, stages, m, chunks))
              most = std::max(most, held += a.kind == Action::forward ? 1 : -1);
            EXPECT_DOUBLE_EQ(most_in_flight(kind, s, stages, m, chunks), 1.0 * most / chunks)
                << chunks << " " << stages << " " << s << " " << m;
          }
}

void expect_refused(const std::function<void()>& call, const std::string& words) {
  try {
    call();
    ADD_FAILURE() << "no error with " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(Schedule, WhatDoesNotFitIsSaidWithTheNumbers) {
  expect_refused([] { check_schedule_fits(ScheduleKind::one_f_one_b, 2, 4, 2); },
                 "parallel.chunks=2");
  expect_refused([] { check_schedule_fits(ScheduleKind::interleaved, 4, 6, 2); },
                 "micro-batches, 6, to be a multiple of parallel.pipeline=4");
  expect_refused([] { split_layers(equal(2), 3, {}); }, "model.n_layers=2 is fewer than the 3");
  expect_refused(
      [] {
        split_layers(equal(3), 2, {4, -1});
      },
      "parallel.layers gives a piece 4 blocks; it must be 0 to model.n_layers=3");
  expect_refused(
      [] {
        split_layers(equal(3), 3, {2, -1, 2});
      },
      "parallel.layers gives a piece -1 blocks; it must be 0 to model.n_layers=3");
  expect_refused(
      [] {
        split_layers(equal(30), 4, {7, 7, 7, 7});
      },
      "parallel.layers sums to 28, but model.n_layers is 30");
  expect_refused([] { split_layers(equal(4), 2, {4}); }, "names 1 pieces, but there are 2");
}

TEST(Schedule, LayersMustAddUp) {
  EXPECT_EQ(split_layers(equal(7), 3, {}), (std::vector<int>{3, 2, 2}));
  EXPECT_EQ(split_layers(equal(12), 4, {}), (std::vector<int>{3, 3, 3, 3}));
  EXPECT_EQ(split_layers(equal(12), 2, {}, 4.9), (std::vector<int>{8, 4}));
  EXPECT_EQ(split_layers(equal(12), 4, {}, 4.9), (std::vector<int>{4, 4, 3, 1}));
  EXPECT_EQ(split_layers(equal(2), 2, {}, 50), (std::vector<int>{1, 1}));
  EXPECT_EQ(split_layers(equal(5), 1, {}, 3), (std::vector<int>{5}));
  EXPECT_EQ(split_layers(equal(7), 2, {3, 4}), (std::vector<int>{3, 4}));
}

TEST(Schedule, LayersOfUnequalWorkAreSplitByIt) {
  const std::vector<double> work{1, 1, 1, 1, 2, 2, 2, 2};
  EXPECT_EQ(split_layers(work, 2, {}), (std::vector<int>{5, 3}));
  EXPECT_EQ(split_layers(work, 3, {}, 1), (std::vector<int>{4, 2, 2}));
  EXPECT_EQ(split_layers(work, 8, {}), (std::vector<int>(8, 1)));
  EXPECT_EQ(split_layers({9, 1, 1, 1}, 2, {}), (std::vector<int>{1, 3}));
  // As good as any of all ways to cut.
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<double> some;
    for (uint64_t i = 0; i < 9; ++i)
      some.push_back(1 + static_cast<double>((seed * 37 + i * i * 11) % 7));
    const std::vector<int> found = split_layers(some, 3, {}, 2);
    const auto load = [&](int a, int b) {
      return std::max({std::accumulate(some.begin(), some.begin() + a, 0.0),
                       std::accumulate(some.begin() + a, some.begin() + b, 0.0),
                       std::accumulate(some.begin() + b, some.end(), 2.0)});
    };
    double best = 1e9;
    for (int a = 1; a < 8; ++a)
      for (int b = a + 1; b < 9; ++b) best = std::min(best, load(a, b));
    EXPECT_EQ(load(found[0], found[0] + found[1]), best) << seed;
  }
}

}  // namespace
}  // namespace skein
