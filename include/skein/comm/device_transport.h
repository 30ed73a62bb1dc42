// Connects the devices of a group's ranks, so that tensors move between them without passing
// through the host (comm/queued_transport.h).
#pragma once

#include <memory>
#include <string>

#include "skein/comm/group.h"
#include "skein/comm/watchdog.h"

namespace skein {

struct DeviceLinks {
  const char* name;   // of the group, for messages: "tensor"; a literal
  bool ring = false;  // also connects neighbours, for send and recv
  double taken = 0;   // part of the device's free memory to take before (cuda::reserve)
};

// Collective. Connects the ranks' devices by NCCL where each rank has a GPU of its own, with a
// first exchange on every connection at once; where ranks share one, tensors go on passing through
// the host. Nothing for CPUs and groups of one. The watchdog, where one is given, looks after all
// of it from the connecting on.
void connect_devices(Group& group, Device device, const DeviceLinks& links,
                     const std::shared_ptr<Watchdog>& watchdog);
// "2.28.9", of the library that is loaded; "" in a build without it.
std::string nccl_version();

}  // namespace skein
