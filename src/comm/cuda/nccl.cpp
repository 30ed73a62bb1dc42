#include <set>

#include "skein/comm/device_transport.h"
#include "skein/comm/queued_transport.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/tensor/cuda.h"

#include "nccl_queue.h"

namespace skein {
namespace {

// Never over: the scope that connects ends first, or the watchdog ends the job.
class ConnectionAttempt : public WatchedWork {
 public:
  ConnectionAttempt(Watchdog& dog, const char* group) : watch_(dog.watch(*this, 1)) {
    watch_->begin(0, {"connection", group}, 0);
  }
  bool passed(int64_t) override { return false; }
  std::string error() override { return ""; }
  void abort(ExitCode) override {}

 private:
  std::unique_ptr<Watchdog::Watch> watch_;
};

// By what a device is: its number says little where each rank is shown another one as number 0.
bool share_gpus(Group& group, Device device) {
  const auto devices = group.all_gather(cuda::identity(device.index));
  return std::set<std::string>(devices.begin(), devices.end()).size() < devices.size();
}

void expect(const Tensor& tensor, float wanted) {
  SKEIN_CHECK_EQ(tensor.to(Device{}).data<float>()[0], wanted);
}

// Each collective with little and with much to move, for the library connects ranks otherwise for
// each, and takes memory for it.
void use_every_form(QueuedTransport& transport, int rank, int ranks, Device device) {
  constexpr int64_t kMuch = 1 << 20;
  for (const int64_t count : {int64_t{1}, kMuch / ranks + 1}) {
    const Tensor own = Tensor::zeros({count}, DType::f32, device),
                 all = Tensor::zeros({count * ranks}, DType::f32, device);
    transport.all_gather(own, all).wait();
    transport.reduce_scatter(all, own).wait();
    transport.all_reduce(all, false).wait();
    transport.broadcast(own, 0).wait();
    for (const std::vector<int>& peers : Halves(rank, ranks).rounds()) {
      std::vector<Trade> trades;
      for (const int peer : peers) trades.push_back({peer, own, own.clone()});
      transport.trade(trades).wait();
    }
  }
}

// A sum over the group, then over each edge the number of its sender.
void exchange_once(QueuedTransport& transport, const TransportSpec& spec, Device device) {
  const Tensor one = Tensor::from<float>({1}, {1}).to(device);
  transport.all_reduce(one, false).wait();
  expect(one, static_cast<float>(spec.size));
  use_every_form(transport, spec.rank, spec.size, device);
  const Tensor own = Tensor::from<float>({static_cast<float>(spec.rank)}, {1}).to(device);
  for (const RingEdge& edge : spec.edges) {
    const int tag = edge.up ? 0 : 1;
    if (edge.from == spec.rank) {
      transport.send(own, edge.to, tag).wait();
      continue;
    }
    const Tensor theirs = Tensor::zeros({1}, DType::f32, device);
    transport.recv(theirs, edge.from, tag).wait();
    expect(theirs, static_cast<float>(edge.from));
  }
  cuda::synchronize(device.index);
}

}  // namespace

void connect_devices(Group& group, Device device, const DeviceLinks& links,
                     const std::shared_ptr<Watchdog>& watchdog) {
  if (device.kind != DeviceKind::cuda || group.size() == 1) return;
  if (share_gpus(group, device)) {
    log::warn(
        "{} ranks of a {} group share GPUs; what they exchange passes through the host. Start one "
        "rank a GPU for speed",
        group.size(), links.name);
    return;
  }
  const auto connecting =
      watchdog ? std::make_unique<ConnectionAttempt>(*watchdog, links.name) : nullptr;
  if (links.taken > 0) cuda::reserve(links.taken, device.index);
  TransportSpec spec{speaker_of(device), links.name, group.rank(), group.size(), {}};
  for (const RingEdge& edge : ring_edges(links.ring ? group.size() : 0))
    if (edge.from == group.rank() || edge.to == group.rank()) spec.edges.push_back(edge);
  auto queue = std::make_shared<NcclQueue>(group, device, spec.edges);
  auto transport = std::make_unique<QueuedTransport>(queue, spec, watchdog);
  exchange_once(*transport, spec, device);
  group.set_device_transport(std::move(transport));
}

std::string nccl_version() {
  int version = 0;
  SKEIN_CHECK(ncclGetVersion(&version) == ncclSuccess);
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace skein
