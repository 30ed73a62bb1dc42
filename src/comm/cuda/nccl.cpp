#include <nccl.h>

#include <cstring>
#include <set>

#include <unistd.h>

#include "skein/comm/device_transport.h"
#include "skein/core/log.h"
#include "skein/tensor/cuda.h"


namespace skein {
namespace {

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return ncclFloat32;
    case DType::f64: return ncclFloat64;
    case DType::bf16: return ncclBfloat16;
    case DType::f16: return ncclFloat16;
    case DType::i32: return ncclInt32;
    case DType::i64: return ncclInt64;
    case DType::u8: return ncclUint8;
  }
  return ncclUint8;
}

class Nccl : public DeviceTransport {
 public:
  Nccl(Group& group, Device device, const ncclUniqueId& id) : device_(device), rank_(group.rank()), size_(group.size()) {
    cuda::stream(device.index);  // chooses the device
    check(ncclCommInitRank(&comm_, size_, id, rank_), "starting");
  }
  ~Nccl() override {
    if (comm_) ncclCommAbort(comm_);
  }
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  void all_gather(const Tensor& in, const Tensor& out) override {
    check(ncclAllGather(in.bytes_data(), out.bytes_data(), count(in), type_of(in.dtype()), comm_, stream()), "all-gather");
  }
  void reduce_scatter(const Tensor& in, const Tensor& out) override {
    check(ncclReduceScatter(in.bytes_data(), out.bytes_data(), count(out), type_of(in.dtype()), ncclSum, comm_, stream()), "reduce-scatter");
  }
  void all_reduce(const Tensor& tensor, bool maximum) override {
    check(ncclAllReduce(tensor.bytes_data(), tensor.bytes_data(), count(tensor), type_of(tensor.dtype()), maximum ? ncclMax : ncclSum, comm_, stream()),
          "all-reduce");
  }
  void broadcast(const Tensor& tensor, int root) override {
    check(ncclBroadcast(tensor.bytes_data(), tensor.bytes_data(), count(tensor), type_of(tensor.dtype()), root, comm_, stream()), "broadcast");
  }
  void send(const Tensor& tensor, int peer) override {
    check(ncclSend(tensor.bytes_data(), count(tensor), type_of(tensor.dtype()), peer, comm_, stream()), "send");
  }
  void recv(const Tensor& tensor, int peer) override {
    check(ncclRecv(tensor.bytes_data(), count(tensor), type_of(tensor.dtype()), peer, comm_, stream()), "receive");
  }

 private:
  static size_t count(const Tensor& tensor) { return static_cast<size_t>(tensor.size()); }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(cuda::stream(device_.index)); }
  void check(ncclResult_t status, const char* what) const {
    if (status != ncclSuccess)
      fail("NCCL: {} failed on rank {} of {} (GPU {}): {}. {}", what, rank_, size_, device_.index, ncclGetErrorString(status),
           comm_ ? ncclGetLastError(comm_) : "Set NCCL_DEBUG=INFO to see why");
  }

  Device device_;
  int rank_, size_;
  ncclComm_t comm_ = nullptr;
};

// Host and number of this rank's GPU.
std::string place_of(Device device) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return fmt::format("{} {}", host, device.index);
}

}  // namespace

void connect_devices(Group& group, Device device) {
  if (device.kind != DeviceKind::cuda || group.size() == 1) return;
  const auto places = group.all_gather(place_of(device));
  if (std::set<std::string>(places.begin(), places.end()).size() < places.size()) {
    log::warn("{} ranks share GPUs; what they exchange passes through the host. Start one rank a GPU for speed", places.size());
    return;
  }
  ncclUniqueId id{};
  if (group.rank() == 0 && ncclGetUniqueId(&id) != ncclSuccess) fail("NCCL: no id for a group: {}", ncclGetLastError(nullptr));
  const std::string shared = group.broadcast(std::string(id.internal, sizeof(id.internal)), 0);
  std::memcpy(id.internal, shared.data(), sizeof(id.internal));
  auto transport = std::make_unique<Nccl>(group, device, id);
  const Tensor one = Tensor::zeros({1}, DType::f32, device);
  transport->all_reduce(one, false);
  cuda::synchronize(device.index);
  group.set_device_transport(std::move(transport));
}

}  // namespace skein
