// How tensors on devices move between the ranks of a group. A group without one passes them through
// the host.
//
// Each move is queued on the device: later kernels see its result, the host does not wait. Host and
// device paths never share a buffer: what the host's transport moves has been copied to memory of
// its own.
#pragma once

#include <memory>

#include "skein/comm/group.h"
#include "skein/comm/watchdog.h"

namespace skein {

class DeviceTransport {
 public:
  virtual ~DeviceTransport() = default;
  // Collectives. Sums follow the transport's own order. Errors name rank, host, device, collective
  // and where(). wait() makes later work of the device wait, and not the host.
  virtual Work all_gather(const Tensor& in, const Tensor& out) = 0;
  virtual Work reduce_scatter(const Tensor& in, const Tensor& out) = 0;
  virtual Work all_reduce(const Tensor& tensor, bool maximum) = 0;
  virtual Work broadcast(const Tensor& tensor, int root) = 0;

  // Whether send and recv reach that rank; the same on both sides.
  virtual bool connects(int peer) const = 0;
  // Messages, with errors and wait() as above; the tensor's memory is kept until wait(). A pair of
  // ranks must receive its messages in the order in which they were sent; in a group of two ranks
  // this holds for even tags and for odd tags separately.
  virtual Work send(const Tensor& tensor, int peer, int tag) = 0;
  virtual Work recv(const Tensor& tensor, int peer, int tag) = 0;
  // Ends what is under way on every connection. From then on each move is an error.
  virtual void abort() = 0;
};

struct DeviceLinks {
  const char* name;   // of the group, for messages: "tensor"; a literal
  bool ring = false;  // also connects neighbours, for send and recv
};

// Collective. Connects the ranks' devices by NCCL where each rank has a GPU of its own, with a
// first exchange on every connection at once; where ranks share one, tensors go on passing through
// the host. Nothing for CPUs and groups of one. The watchdog, where one is given, looks after all
// of it from the connecting on.
void connect_devices(Group& group, Device device, const DeviceLinks& links,
                     const std::shared_ptr<Watchdog>& watchdog);

// A watchdog that ends the job of `world`, which must outlive it, after `timeout` seconds; 0:
// never. It calls abort() from a thread of its own. Null for CPUs.
std::shared_ptr<Watchdog> device_watchdog(Group& world, Device device, double timeout);

}  // namespace skein
