// What stages send each other, checked over whole schedules without a single rank.
#include "skein/parallel/messages.h"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <map>

#include "skein/comm/ring.h"

namespace skein {
namespace {

struct Case {
  ScheduleKind kind;
  int stages, micro_batches, chunks;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int stages : {2, 3, 4, 5, 8})
    for (const int m : {1, 2, 3, 7, 12}) {
      for (const int chunks : {1, 2, 3}) all.push_back({ScheduleKind::gpipe, stages, m, chunks});
      all.push_back({ScheduleKind::one_f_one_b, stages, m, 1});
      for (const int chunks : {1, 2, 3, 4})
        all.push_back({ScheduleKind::interleaved, stages, m * stages, chunks});
    }
  return all;
}

std::vector<Action> actions_of(const Case& c, int stage) {
  return make_schedule(c.kind, stage, c.stages, c.micro_batches, c.chunks);
}

size_t edge_of(const std::vector<RingEdge>& edges, int from, int to, int tag, int stages) {
  const auto found = std::find_if(edges.begin(), edges.end(), [&](const RingEdge& e) {
    return e.carries(from, to, tag, stages);
  });
  EXPECT_NE(found, edges.end()) << from << " to " << to;
  return static_cast<size_t>(found - edges.begin());
}

TEST(Messages, ArriveInTheOrderOfTheirReceivesOnEveryEdge) {
  for (const Case& c : cases()) {
    const auto edges = ring_edges(c.stages);
    std::vector<std::vector<int>> sent(edges.size()), received(edges.size());
    for (int s = 0; s < c.stages; ++s)
      for (const Action& action : actions_of(c, s)) {
        const StagePieces pieces{s, c.stages, c.chunks};
        if (const auto m = pieces.received(action))
          received[edge_of(edges, m->peer, s, m->tag, c.stages)].push_back(m->tag);
        if (const auto m = pieces.sent(action))
          sent[edge_of(edges, s, m->peer, m->tag, c.stages)].push_back(m->tag);
      }
    size_t messages = 0;
    for (size_t e = 0; e < edges.size(); ++e) {
      EXPECT_EQ(sent[e], received[e])
          << c.stages << " stages, " << c.micro_batches << " micro-batches, " << c.chunks
          << " chunks, edge " << edges[e].from << " to " << edges[e].to;
      messages += sent[e].size();
    }
    EXPECT_EQ(messages, static_cast<size_t>(2 * (c.stages * c.chunks - 1) * c.micro_batches));
  }
}

TEST(Messages, OfOneStageStayThere) {
  const StagePieces pieces{0, 1, 3};
  EXPECT_EQ(pieces.sent({Action::forward, 2, 0}), (StageMessage{0, (2 * 3 + 1) * 2}));
  EXPECT_EQ(pieces.received({Action::forward, 2, 1}), (StageMessage{0, (2 * 3 + 1) * 2}));
  EXPECT_EQ(pieces.sent({Action::backward, 2, 2}), (StageMessage{0, (2 * 3 + 1) * 2 + 1}));
  EXPECT_EQ(pieces.sent({Action::forward, 2, 2}), std::nullopt);
  EXPECT_EQ(pieces.received({Action::backward, 2, 2}), std::nullopt);
}

// A step as devices run it: a stage's compute stream does its work in order; a transfer starts when
// its edge is free and both ends have come to it, and neither end can do without the other. Of the
// gradients that a stage has sent it waits for the oldest where more are under way than may be.
class Devices {
 public:
  explicit Devices(const Case& c) : case_(c), edges_(ring_edges(c.stages)) {
    for (int s = 0; s < c.stages; ++s) queue_stage(s);
  }

  bool finish() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [edge, lane] : lanes_) moved |= transfer(lane);
      for (auto& stage : stages_) moved |= compute(stage);
    }
    return std::all_of(stages_.begin(), stages_.end(),
                       [](const Stage& s) { return s.at == s.work.size(); });
  }

 private:
  struct Item {
    int64_t edge = -1;  // waits for this transfer of it; -1: plain work
    size_t transfer = 0;
  };
  struct Stage {
    std::vector<Item> work;
    size_t at = 0;
  };
  struct Lane {
    int from = 0, to = 0;
    std::vector<size_t> send_after, receive_after;  // items of the stages that must be done
    size_t done = 0;
  };

  void queue_stage(int s) {
    Stage stage;
    const StagePieces pieces{s, case_.stages, case_.chunks};
    std::map<std::pair<int, int>, Item> open;
    std::deque<Item> sending;
    for (const Action& action : actions_of(case_, s)) {
      if (action.kind == Action::backward && open.contains({action.micro_batch, action.chunk}))
        stage.work.push_back(open[{action.micro_batch, action.chunk}]);
      if (const auto m = pieces.received(action)) {
        Lane& lane = lane_of(m->peer, s, m->tag);
        lane.receive_after.push_back(stage.work.size());
        stage.work.push_back({edge_number(m->peer, s, m->tag), lane.receive_after.size() - 1});
      }
      stage.work.push_back({});
      if (const auto m = pieces.sent(action)) {
        Lane& lane = lane_of(s, m->peer, m->tag);
        lane.send_after.push_back(stage.work.size());
        const Item sent{edge_number(s, m->peer, m->tag), lane.send_after.size() - 1};
        if (action.kind == Action::forward)
          open[{action.micro_batch, action.chunk}] = sent;
        else
          sending.push_back(sent);
        for (; std::ssize(sending) > most_sending(case_.kind, case_.stages); sending.pop_front())
          stage.work.push_back(sending.front());
      }
    }
    stage.work.insert(stage.work.end(), sending.begin(), sending.end());
    stages_.push_back(std::move(stage));
  }

  bool transfer(Lane& lane) {
    if (lane.done >= std::min(lane.send_after.size(), lane.receive_after.size())) return false;
    if (stages_[static_cast<size_t>(lane.from)].at < lane.send_after[lane.done]) return false;
    if (stages_[static_cast<size_t>(lane.to)].at < lane.receive_after[lane.done]) return false;
    return ++lane.done;
  }
  bool compute(Stage& stage) {
    if (stage.at == stage.work.size()) return false;
    const Item& next = stage.work[stage.at];
    if (next.edge >= 0 && lanes_[next.edge].done <= next.transfer) return false;
    return ++stage.at;
  }
  int64_t edge_number(int from, int to, int tag) const {
    return static_cast<int64_t>(edge_of(edges_, from, to, tag, case_.stages));
  }
  Lane& lane_of(int from, int to, int tag) {
    Lane& lane = lanes_[edge_number(from, to, tag)];
    lane.from = from;
    lane.to = to;
    return lane;
  }

  Case case_;
  std::vector<RingEdge> edges_;
  std::vector<Stage> stages_;
  std::map<int64_t, Lane> lanes_;
};

TEST(Messages, NoStageWaitsForEverOnAStreamAnEdge) {
  for (const Case& c : cases())
    EXPECT_TRUE(Devices(c).finish()) << c.stages << " stages, " << c.micro_batches
                                     << " micro-batches, " << c.chunks << " chunks";
}

}  // namespace
}  // namespace skein
