// How tensors on devices move between the ranks of a group. A group without one passes them through the host.
#pragma once

#include <memory>

#include "skein/comm/group.h"

namespace skein {

// Queues each move on the device's stream: later kernels see its result, the host does not wait. Sums follow the transport's own order.
class DeviceTransport {
 public:
  virtual ~DeviceTransport() = default;
  virtual void all_gather(const Tensor& in, const Tensor& out) = 0;
  virtual void reduce_scatter(const Tensor& in, const Tensor& out) = 0;
  virtual void all_reduce(const Tensor& tensor, bool maximum) = 0;
  virtual void broadcast(const Tensor& tensor, int root) = 0;
  virtual void send(const Tensor& tensor, int peer) = 0;
  virtual void recv(const Tensor& tensor, int peer) = 0;
};

// Collective. Connects the ranks' devices by NCCL where each rank has a GPU of its own, with a first exchange at once; where ranks
// share one, tensors go on passing through the host. Nothing for CPUs and groups of one.
void connect_devices(Group& group, Device device);

}  // namespace skein
