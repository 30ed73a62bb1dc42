// How tensors on devices move between the ranks of a group. A group without a transport passes them
// through the host.
//
// Each move is queued on the device: later kernels see its result, the host does not wait. Host and
// device paths never share a buffer: what the host's transport moves has been copied to memory of
// its own.
//
// Collectives run on the computation's stream, where they are in order with what comes before and
// after, so that there is nothing to wait for; a message runs on the stream of its edge, which
// first waits for the computation so far, and the computation waits for it where its Work is waited
// for. Freed memory is used again in the order of the computation's stream, so this order also
// keeps a message's memory from being written too early.
#pragma once

#include <string>
#include <vector>

#include "skein/comm/device_queue.h"
#include "skein/comm/ring.h"
#include "skein/comm/work.h"

namespace skein {

struct TransportSpec {
  std::string speaker;          // "rank 5 (host node3, GPU 1)", for errors
  const char* group = "";       // "tensor"; a literal
  int rank = 0, size = 1;       // in the group
  std::vector<RingEdge> edges;  // those this rank is an end of; edge i has stream i + 1
};

class QueuedTransport {
 public:
  // watchdog may be null.
  QueuedTransport(std::shared_ptr<DeviceQueue> queue, TransportSpec spec,
                  std::shared_ptr<Watchdog> watchdog);

  // Collectives. Sums follow the queue's own order. Errors name rank, host, device, collective and
  // where(). wait() makes later work of the device wait, and not the host.
  Work all_gather(const Tensor& in, const Tensor& out);
  Work reduce_scatter(const Tensor& in, const Tensor& out);
  Work all_reduce(const Tensor& tensor, bool maximum);
  Work broadcast(const Tensor& tensor, int root);
  Work trade(std::span<const Trade> trades);

  // Whether send and recv reach that rank; the same on both sides.
  bool connects(int peer) const;
  // Messages, with errors and wait() as above; the tensor's memory is kept until wait(). A pair of
  // ranks must receive its messages in the order in which they were sent; in a group of two ranks
  // this holds for even tags and for odd tags separately.
  Work send(const Tensor& tensor, int peer, int tag);
  Work recv(const Tensor& tensor, int peer, int tag);

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
