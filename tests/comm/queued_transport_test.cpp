// The order in which a transport puts moves, on a device that only writes down what must run before
// what.
#include "skein/comm/queued_transport.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

#include "skein/tensor/buffer.h"

namespace skein {
namespace {

class Recorder : public DeviceQueue {
 public:
  struct Operation {
    std::string name;
    int stream;
    std::set<size_t> before;  // what has run when it starts
  };

  int64_t mark(int stream) override {
    marks_[next_mark_] = streams_[stream];
    return next_mark_++;
  }
  void wait(int stream, int64_t mark) override {
    const auto ended = over(mark);
    streams_[stream].insert(ended.begin(), ended.end());
  }
  bool passed(int64_t mark) override {
    if (hangs) return false;
    over(mark);
    return true;
  }
  std::string error() override { return ""; }
  void abort(ExitCode) override { ++aborts; }

  void all_gather(const Tensor&, const Tensor&) override { add("all-gather", kCompute); }
  void reduce_scatter(const Tensor&, const Tensor&) override { add("reduce-scatter", kCompute); }
  void all_reduce(const Tensor&, bool) override { add("all-reduce", kCompute); }
  void broadcast(const Tensor&, int) override { add("broadcast", kCompute); }
  void trade(std::span<const Trade>) override { add("trade", kCompute); }
  void send(int stream, const Tensor&) override { add("send", stream); }
  void recv(int stream, const Tensor&) override { add("receive", stream); }

  size_t compute() { return add("compute", kCompute); }
  size_t last() const { return operations.size() - 1; }
  bool runs_before(size_t first, size_t second) const {
    return operations[second].before.contains(first);
  }
  size_t open_marks() const { return marks_.size(); }

  std::vector<Operation> operations;
  int aborts = 0;
  bool hangs = false;
  std::string refusal;

 private:
  size_t add(const std::string& name, int stream) {
    if (!refusal.empty()) fail("{}", refusal);
    operations.push_back({name, stream, streams_[stream]});
    streams_[stream].insert(last());
    return last();
  }
  std::set<size_t> over(int64_t mark) {
    auto node = marks_.extract(mark);
    EXPECT_FALSE(node.empty()) << "mark " << mark << " is used twice";
    return node.empty() ? std::set<size_t>() : node.mapped();
  }

  std::map<int, std::set<size_t>> streams_;
  std::map<int64_t, std::set<size_t>> marks_;
  int64_t next_mark_ = 0;
};

// Rank 1 of `ranks` in a ring, with its edges in the order of ring_edges().
class Ordered : public testing::Test {
 protected:
  QueuedTransport ring_of(int ranks, std::shared_ptr<Watchdog> dog = nullptr) {
    TransportSpec spec{"rank 5 (host node3, GPU 1)", "pipeline", 1, ranks, {}};
    for (const RingEdge& edge : ring_edges(ranks))
      if (edge.from == 1 || edge.to == 1) spec.edges.push_back(edge);
    edges_ = spec.edges;
    return QueuedTransport(queue_, spec, std::move(dog));
  }
  const RingEdge& last_edge() const {
    return edges_.at(static_cast<size_t>(queue_->operations.back().stream) - 1);
  }

  std::shared_ptr<Recorder> queue_ = std::make_shared<Recorder>();
  std::vector<RingEdge> edges_;
  const Tensor tensor_ = Tensor::zeros({256}, DType::f32);
};

TEST_F(Ordered, ASendWaitsForWhatMakesItAndOverlapsWithWhatFollows) {
  QueuedTransport transport = ring_of(4);
  const size_t maker = queue_->compute();
  Work sent = transport.send(tensor_, 2, 0);
  const size_t send = queue_->last(), meanwhile = queue_->compute();
  sent.wait();
  const size_t after = queue_->compute();
  EXPECT_TRUE(queue_->runs_before(maker, send));
  EXPECT_FALSE(queue_->runs_before(send, meanwhile)) << "the computation need not wait yet";
  EXPECT_FALSE(queue_->runs_before(meanwhile, send)) << "the send need not wait either";
  EXPECT_TRUE(queue_->runs_before(send, after)) << "memory that is used again must have been sent";
  sent.wait();
  EXPECT_EQ(queue_->open_marks(), 0u);
}

TEST_F(Ordered, AReceiveWaitsForTheOldUsersOfItsMemory) {
  QueuedTransport transport = ring_of(4);
  const size_t old_user = queue_->compute();
  Work received = transport.recv(tensor_, 0, 0);
  const size_t receive = queue_->last();
  received.wait();
  const size_t reader = queue_->compute();
  EXPECT_TRUE(queue_->runs_before(old_user, receive));
  EXPECT_TRUE(queue_->runs_before(receive, reader));
}

TEST_F(Ordered, EdgesDoNotWaitForEachOther) {
  for (const int ranks : {2, 3, 4}) {
    QueuedTransport transport = ring_of(ranks);
    Work sent = transport.send(tensor_, 0, 1);
    const size_t send = queue_->last();
    Work received = transport.recv(tensor_, 0, 0);
    const size_t receive = queue_->last();
    EXPECT_NE(queue_->operations[send].stream, queue_->operations[receive].stream);
    EXPECT_FALSE(queue_->runs_before(send, receive))
        << "two stages that send to each other would wait for ever";
    received.wait();
    EXPECT_FALSE(queue_->runs_before(send, queue_->compute()))
        << "nor does the computation wait for more than was received";
  }
}

TEST_F(Ordered, MessagesOfAnEdgeRunInTheirOrder) {
  QueuedTransport transport = ring_of(3);
  std::vector<Work> works;
  for (int i = 0; i < 5; ++i) {
    works.push_back(transport.send(tensor_, 2, 2 * i));
    EXPECT_EQ(last_edge(), (RingEdge{1, 2, true}));
    EXPECT_TRUE(i == 0 || queue_->runs_before(queue_->last() - 1, queue_->last()));
  }
}

TEST_F(Ordered, EachMoveTakesItsEdge) {
  QueuedTransport four = ring_of(4);
  four.send(tensor_, 2, 7);
  EXPECT_EQ(last_edge(), (RingEdge{1, 2, true}));
  four.send(tensor_, 0, 4);
  EXPECT_EQ(last_edge(), (RingEdge{1, 0, false}));
  four.recv(tensor_, 0, 0);
  EXPECT_EQ(last_edge(), (RingEdge{0, 1, true}));
  four.recv(tensor_, 2, 1);
  EXPECT_EQ(last_edge(), (RingEdge{2, 1, false}));
  EXPECT_TRUE(four.connects(0) && four.connects(2));
  EXPECT_FALSE(four.connects(3) || four.connects(1));
  EXPECT_THROW(four.send(tensor_, 3, 0), Error);

  QueuedTransport two = ring_of(2);
  for (const int tag : {0, 1}) {
    two.send(tensor_, 0, tag);
    EXPECT_EQ(last_edge(), (RingEdge{1, 0, tag == 0}));
    two.recv(tensor_, 0, tag);
    EXPECT_EQ(last_edge(), (RingEdge{0, 1, tag == 0}));
  }
}

TEST_F(Ordered, CollectivesRunBetweenTheComputations) {
  QueuedTransport transport = ring_of(3);
  const auto check = [&](const char* name, const std::function<Work()>& collective) {
    const size_t before = queue_->compute();
    Work work = collective();
    work.wait();
    EXPECT_EQ(queue_->open_marks(), 0u) << "the streams are in order by themselves";
    const size_t moved = queue_->last(), after = queue_->compute();
    EXPECT_EQ(queue_->operations[moved].name, name);
    EXPECT_EQ(queue_->operations[moved].stream, DeviceQueue::kCompute);
    EXPECT_TRUE(queue_->runs_before(before, moved) && queue_->runs_before(moved, after));
  };
  check("all-gather", [&] { return transport.all_gather(tensor_, tensor_); });
  check("reduce-scatter", [&] { return transport.reduce_scatter(tensor_, tensor_); });
  check("all-reduce", [&] { return transport.all_reduce(tensor_, false); });
  check("broadcast", [&] { return transport.broadcast(tensor_, 0); });
  check("trade", [&] {
    const Trade trade{1, tensor_, tensor_};
    return transport.trade({&trade, 1});
  });
}

TEST_F(Ordered, MemoryIsKeptUntilTheComputationWaits) {
  QueuedTransport transport = ring_of(3);
  const auto made = [] { return Tensor::zeros({1 << 20}, DType::f32); };
  const int64_t before = memory_use().live;
  Work sent = transport.send(made(), 2, 0);
  EXPECT_GT(memory_use().live, before);
  sent.wait();
  EXPECT_EQ(memory_use().live, before);
  { const Work forgotten = transport.send(made(), 2, 0); }
  const size_t send = queue_->last(), after = queue_->compute();
  EXPECT_TRUE(queue_->runs_before(send, after)) << "work that nobody waits for";
  EXPECT_EQ(memory_use().live, before);
}

TEST_F(Ordered, ErrorsNameAllThatIsKnown) {
  QueuedTransport transport = ring_of(3);
  queue_->refusal = "NCCL: unhandled system error";
  const WhereScope step = WhereScope::step(12), block = WhereScope::part("block.4");
  try {
    transport.all_reduce(tensor_, false);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failure);
    EXPECT_STREQ(error.what(),
                 "rank 5 (host node3, GPU 1): all-reduce of 1.0 KiB in the pipeline group failed "
                 "at step 12, block.4: NCCL: unhandled system error");
  }
}

TEST_F(Ordered, TheWatchdogIsToldOfEveryMove) {
  double now = 0;
  std::string said;
  Watchdog::Settings settings;
  settings.speaker = "rank 5";
  settings.timeout = 10;
  settings.interval = 0;
  settings.clock = [&] { return now; };
  settings.say = [&](const std::string& message) { said = message; };
  const auto dog = std::make_shared<Watchdog>(settings);
  {
    QueuedTransport transport = ring_of(4, dog);
    for (int i = 0; i < 10; ++i) {
      transport.all_reduce(tensor_, false);
      transport.send(tensor_, 2, 0).wait();
    }
    EXPECT_EQ(queue_->open_marks(), 20u);
    dog->look();
    EXPECT_EQ(queue_->open_marks(), 0u);
    queue_->hangs = true;
    const WhereScope step = WhereScope::step(3);
    transport.recv(tensor_, 0, 0).wait();
    now += 11;
    dog->look();
    EXPECT_NE(said.find("rank 5 has waited 11 s for receive of 1.0 KiB from rank 0 of the pipeline "
                        "group (step 3)"),
              std::string::npos)
        << said;
    EXPECT_EQ(queue_->aborts, 1);
  }
  queue_.reset();
  dog->look();
}

}  // namespace
}  // namespace skein
