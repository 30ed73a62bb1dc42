// What a device offers to exchanges: streams that run their work in order, marks in them, and the
// moves themselves. Nothing here makes the host wait. A QueuedTransport puts it in order; NCCL's is
// in src/comm/cuda, tests record what they are asked for.
#pragma once

#include <span>

#include "skein/comm/trade.h"
#include "skein/comm/watchdog.h"

namespace skein {

class DeviceQueue : public WatchedWork {
 public:
  // The stream of all computation, and of the group's collectives. Those of edges are numbered
  // from 1.
  static constexpr int kCompute = 0;

  // Marks the end of what is queued on a stream so far. The mark is over, and its number may be
  // given to another, once wait() has been called for it or passed() was true.
  virtual int64_t mark(int stream) = 0;
  // What is queued on the stream from now on runs after the mark.
  virtual void wait(int stream, int64_t mark) = 0;

  // Collectives of all ranks of the group, on kCompute. Each throws Error(failure) with the
  // library's words.
  virtual void all_gather(const Tensor& in, const Tensor& out) = 0;
  virtual void reduce_scatter(const Tensor& in, const Tensor& out) = 0;
  virtual void all_reduce(const Tensor& tensor, bool maximum) = 0;
  virtual void broadcast(const Tensor& tensor, int root) = 0;
  // Trades of ranks of the group, all at once, on kCompute.
  virtual void trade(std::span<const Trade> trades) = 0;
  // A message to or from the rank at the other end of that stream's edge.
  virtual void send(int stream, const Tensor& tensor) = 0;
  virtual void recv(int stream, const Tensor& tensor) = 0;
};

}  // namespace skein
