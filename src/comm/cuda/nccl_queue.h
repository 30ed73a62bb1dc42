// NCCL as a DeviceQueue: a communicator of the whole group on the computation's stream, and one of
// two ranks with a stream of its own for each edge.
#pragma once

#include <atomic>
#include <nccl.h>
#include <string>
#include <vector>

#include "skein/comm/device_queue.h"
#include "skein/comm/group.h"
#include "skein/comm/ring.h"
#include "skein/tensor/cuda_streams.h"

namespace skein {

class NcclQueue : public DeviceQueue {
 public:
  // Collective. Connects the group, then this rank's own ones of ring_edges() in that order; none
  // where no rank names any.
  NcclQueue(Group& group, Device device, const std::vector<RingEdge>& edges);
  ~NcclQueue() override;

  int64_t mark(int stream) override;
  void wait(int stream, int64_t mark) override;
  bool passed(int64_t mark) override { return events_.passed(mark); }
  std::string error() override;
  void abort(ExitCode code) override;

  void all_gather(const Tensor& in, const Tensor& out) override;
  void reduce_scatter(const Tensor& in, const Tensor& out) override;
  void all_reduce(const Tensor& tensor, bool maximum) override;
  void broadcast(const Tensor& tensor, int root) override;
  void trade(std::span<const Trade> trades) override;
  void send(int stream, const Tensor& tensor) override;
  void recv(int stream, const Tensor& tensor) override;

 private:
  void finish();
  void connect(const ncclUniqueId& id, int rank, int size, int most_blocks);
  ncclComm_t comm(int stream) const;
  cudaStream_t native(int stream) const;
  // What `call` of NCCL does with the arguments, on that stream's communicator.
  template <class Call, class... Arguments>
  void queue(int stream, const Call& call, Arguments... arguments);

  Device device_;
  std::vector<ncclComm_t> comms_;      // by stream
  std::vector<cuda::Stream> streams_;  // of edges
  cuda::Events events_;
  std::mutex mutex_;  // between error() and abort()
  std::atomic<bool> aborted_ = false;
  ExitCode code_ = ExitCode::failure;  // of abort(); set before aborted_ is
};

}  // namespace skein
