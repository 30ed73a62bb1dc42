// A build without CUDA: there are no devices to connect.
#include "skein/comm/device_transport.h"

namespace skein {

void connect_devices(Group&, Device, const DeviceLinks&, const std::shared_ptr<Watchdog>&) {}
std::string nccl_version() { return ""; }

}  // namespace skein
