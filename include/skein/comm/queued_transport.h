// A DeviceTransport over streams. Collectives run on the computation's stream, where they are in
// order with what comes before and after, so that there is nothing to wait for; a message runs on
// the stream of its edge, which first waits for the computation so far, and the computation waits
// for it where its Work is waited for. Freed memory is used again in the order of the computation's
// stream, so this order also keeps a message's memory from being written too early.
#pragma once

#include <string>
#include <vector>

#include "skein/comm/device_queue.h"
#include "skein/comm/device_transport.h"
#include "skein/comm/ring.h"

namespace skein {

struct TransportSpec {
  std::string place;            // "rank 5 (host node3, GPU 1)", for errors
  const char* group = "";       // "tensor"; a literal
  int rank = 0, size = 1;       // in the group
  std::vector<RingEdge> edges;  // those this rank is an end of; edge i has stream i + 1
};

class QueuedTransport : public DeviceTransport {
 public:
  // watchdog may be null.
  QueuedTransport(std::shared_ptr<DeviceQueue> queue, TransportSpec spec,
                  std::shared_ptr<Watchdog> watchdog);

  Work all_gather(const Tensor& in, const Tensor& out) override;
  Work reduce_scatter(const Tensor& in, const Tensor& out) override;
  Work all_reduce(const Tensor& tensor, bool maximum) override;
  Work broadcast(const Tensor& tensor, int root) override;
  bool connects(int peer) const override;
  Work send(const Tensor& tensor, int peer, int tag) override;
  Work recv(const Tensor& tensor, int peer, int tag) override;
  void abort() override { queue_->abort(); }

 private:
  int stream_of(int from, int to, int tag) const;
  template <class Move>
  void queue(int stream, const Exchange& exchange, const Move& move);
  template <class Move>
  Work collective(const Exchange& exchange, const Move& move);
  template <class Move>
  Work transfer(int stream, const Exchange& exchange, const Tensor& tensor, const Move& move);

  std::shared_ptr<DeviceQueue> queue_;
  TransportSpec spec_;
  std::shared_ptr<Watchdog> watchdog_;
  std::unique_ptr<Watchdog::Watch> watch_;
};

}  // namespace skein
