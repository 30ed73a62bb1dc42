#include "skein/comm/queued_transport.h"

#include "skein/core/numbers.h"

namespace skein {
namespace {

// A message under way, which holds its memory until the computation is made to wait for it.
class QueuedTransfer {
 public:
  QueuedTransfer(std::shared_ptr<DeviceQueue> queue, Tensor tensor, int64_t mark)
      : queue_(std::move(queue)), tensor_(std::move(tensor)), mark_(mark) {}
  ~QueuedTransfer() {
    try {
      finish();
    } catch (const Error&) {  // the device is lost, and so is what it would have waited for
    }
  }
  QueuedTransfer(const QueuedTransfer&) = delete;
  QueuedTransfer& operator=(const QueuedTransfer&) = delete;

  void finish() {
    if (const auto queue = std::exchange(queue_, nullptr))
      queue->wait(DeviceQueue::kCompute, mark_);
    tensor_ = {};
  }

 private:
  std::shared_ptr<DeviceQueue> queue_;
  Tensor tensor_;
  int64_t mark_;
};

}  // namespace

QueuedTransport::QueuedTransport(std::shared_ptr<DeviceQueue> queue, TransportSpec spec,
                                 std::shared_ptr<Watchdog> watchdog)
    : queue_(std::move(queue)), spec_(std::move(spec)), watchdog_(std::move(watchdog)) {
  if (watchdog_) watch_ = watchdog_->watch(*queue_, narrow<int>(spec_.edges.size()) + 1);
}

template <class Move>
void QueuedTransport::queue(int stream, const Exchange& exchange, const Move& move) {
  try {
    move();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {} failed at {}: {}", spec_.speaker, exchange.str(),
                                          where().str(), error.what()));
  }
  if (watch_) watch_->begin(stream, exchange, queue_->mark(stream));
}

template <class Move>
Work QueuedTransport::transfer(int stream, const Exchange& exchange, const Tensor& tensor,
                               const Move& move) {
  queue_->wait(stream, queue_->mark(DeviceQueue::kCompute));
  queue(stream, exchange, move);
  return Work([under_way = std::make_shared<QueuedTransfer>(queue_, tensor, queue_->mark(stream))] {
    under_way->finish();
  });
}

// All that follows on the computation's stream runs after it: nothing is left to wait for.
template <class Move>
Work QueuedTransport::collective(const Exchange& exchange, const Move& move) {
  queue(DeviceQueue::kCompute, exchange, move);
  return {};
}

Work QueuedTransport::all_gather(const Tensor& in, const Tensor& out) {
  return collective({"all-gather", spec_.group, out.bytes()}, [&] { queue_->all_gather(in, out); });
}

Work QueuedTransport::reduce_scatter(const Tensor& in, const Tensor& out) {
  return collective({"reduce-scatter", spec_.group, in.bytes()},
                    [&] { queue_->reduce_scatter(in, out); });
}

Work QueuedTransport::all_reduce(const Tensor& tensor, bool maximum) {
  return collective({"all-reduce", spec_.group, tensor.bytes()},
                    [&] { queue_->all_reduce(tensor, maximum); });
}

Work QueuedTransport::broadcast(const Tensor& tensor, int root) {
  return collective({"broadcast", spec_.group, tensor.bytes(), root},
                    [&] { queue_->broadcast(tensor, root); });
}

Work QueuedTransport::trade(std::span<const Trade> trades) {
  const Trade& first = trades.front();
  const int peer = trades.size() == 1 ? first.peer : -1;
  return collective({"trade", spec_.group, std::ssize(trades) * first.sent.bytes(), peer},
                    [&] { queue_->trade(trades); });
}

int QueuedTransport::stream_of(int from, int to, int tag) const {
  for (int i = 0; i < std::ssize(spec_.edges); ++i)
    if (spec_.edges[i].carries(from, to, tag, spec_.size)) return i + 1;
  return -1;
}

bool QueuedTransport::connects(int peer) const { return stream_of(spec_.rank, peer, 0) > 0; }

Work QueuedTransport::send(const Tensor& tensor, int peer, int tag) {
  const int stream = stream_of(spec_.rank, peer, tag);
  SKEIN_CHECK(stream > 0);
  return transfer(stream, {"send", spec_.group, tensor.bytes(), peer, true}, tensor,
                  [&] { queue_->send(stream, tensor); });
}

Work QueuedTransport::recv(const Tensor& tensor, int peer, int tag) {
  const int stream = stream_of(peer, spec_.rank, tag);
  SKEIN_CHECK(stream > 0);
  return transfer(stream, {"receive", spec_.group, tensor.bytes(), peer}, tensor,
                  [&] { queue_->recv(stream, tensor); });
}

}  // namespace skein
