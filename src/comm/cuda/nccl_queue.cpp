#include "nccl_queue.h"

#include <cstring>
#include <exception>

#include "skein/core/numbers.h"
#include "skein/tensor/cuda.h"

namespace skein {
namespace {

// An edge needs few of the GPU's blocks: a receive that was begun early holds them while it waits,
// and all that run at once must fit beside the group's.
constexpr int kEdgeBlocks = 4;

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

size_t count(const Tensor& tensor) { return tensor.size(); }

std::string new_id() {
  ncclUniqueId id{};
  if (const ncclResult_t status = ncclGetUniqueId(&id); status != ncclSuccess)
    fail("NCCL: no id for a group: {}. {}", ncclGetErrorString(status), ncclGetLastError(nullptr));
  return {id.internal, sizeof(id.internal)};
}

ncclUniqueId id_of(const std::string& text) {
  SKEIN_CHECK_EQ(text.size(), sizeof(ncclUniqueId::internal));
  ncclUniqueId id{};
  std::memcpy(id.internal, text.data(), sizeof(id.internal));
  return id;
}

// By rank, the ids of the edges that begin there, in the order of `edges`.
std::vector<std::string> edge_ids(Group& group, const std::vector<RingEdge>& edges) {
  std::string own;
  for (const RingEdge& edge : edges)
    if (edge.from == group.rank()) own += new_id();
  return group.all_gather(own);
}

void check(ncclResult_t status, ncclComm_t comm) {
  if (status != ncclSuccess)
    throw LostRank(fmt::format("NCCL: {}. {}", ncclGetErrorString(status), ncclGetLastError(comm)));
}

}  // namespace

NcclQueue::NcclQueue(Group& group, Device device, const std::vector<RingEdge>& edges)
    : device_(device), events_(device.index) {
  cuda::stream(device.index);  // chooses the device
  connect(id_of(group.broadcast(group.rank() == 0 ? new_id() : "", 0)), group.rank(), group.size(),
          NCCL_CONFIG_UNDEF_INT);
  auto ids = edge_ids(group, edges);
  for (const RingEdge& edge : ring_edges(narrow<int>(ids.size()))) {
    auto& left = ids[edge.from];
    if (left.empty()) continue;
    const ncclUniqueId id = id_of(left.substr(0, sizeof(ncclUniqueId::internal)));
    left.erase(0, sizeof(ncclUniqueId::internal));
    if (edge.from != group.rank() && edge.to != group.rank()) continue;
    streams_.emplace_back(device.index);
    connect(id, edge.from == group.rank() ? 0 : 1, 2, kEdgeBlocks);
  }
}

NcclQueue::~NcclQueue() {
  if (std::uncaught_exceptions() > 0)
    abort(ExitCode::failure);
  else
    finish();
}

// Lets what is under way end, for a peer may still be receiving it. All ranks do so in one order.
void NcclQueue::finish() {
  const std::lock_guard lock(mutex_);
  if (aborted_.exchange(true)) return;
  for (ncclComm_t comm : comms_) ncclCommFinalize(comm);
  for (ncclComm_t comm : comms_) ncclCommDestroy(comm);
}

void NcclQueue::connect(const ncclUniqueId& id, int rank, int size, int most_blocks) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.maxCTAs = most_blocks;
  ncclComm_t made = nullptr;
  if (const ncclResult_t status = ncclCommInitRankConfig(&made, size, id, rank, &config);
      status != ncclSuccess)
    fail("NCCL: connecting rank {} of {} on GPU {} failed: {}. {}. Set NCCL_DEBUG=INFO to see why",
         rank, size, device_.index, ncclGetErrorString(status), ncclGetLastError(nullptr));
  comms_.push_back(made);
}

int64_t NcclQueue::mark(int stream) { return events_.record(native(stream)); }
void NcclQueue::wait(int stream, int64_t mark) { events_.wait(native(stream), mark); }

std::string NcclQueue::error() {
  const std::lock_guard lock(mutex_);
  if (aborted_) return "";
  for (ncclComm_t comm : comms_) {
    ncclResult_t status = ncclSuccess;
    if (ncclCommGetAsyncError(comm, &status) != ncclSuccess || status == ncclSuccess ||
        status == ncclInProgress)
      continue;
    return fmt::format("NCCL: {}. {}", ncclGetErrorString(status), ncclGetLastError(comm));
  }
  return "";
}

void NcclQueue::abort(ExitCode code) {
  const std::lock_guard lock(mutex_);
  if (aborted_) return;
  code_ = code;
  aborted_ = true;
  for (ncclComm_t comm : comms_) ncclCommAbort(comm);
}

template <class Call, class... Arguments>
void NcclQueue::queue(int stream, const Call& call, Arguments... arguments) {
  check(call(arguments..., comm(stream), native(stream)), comm(stream));
}

void NcclQueue::all_gather(const Tensor& in, const Tensor& out) {
  queue(kCompute, ncclAllGather, in.bytes_data(), out.bytes_data(), count(in), type_of(in.dtype()));
}

void NcclQueue::reduce_scatter(const Tensor& in, const Tensor& out) {
  queue(kCompute, ncclReduceScatter, in.bytes_data(), out.bytes_data(), count(out),
        type_of(in.dtype()), ncclSum);
}

void NcclQueue::all_reduce(const Tensor& tensor, bool maximum) {
  queue(kCompute, ncclAllReduce, tensor.bytes_data(), tensor.bytes_data(), count(tensor),
        type_of(tensor.dtype()), maximum ? ncclMax : ncclSum);
}

void NcclQueue::broadcast(const Tensor& tensor, int root) {
  queue(kCompute, ncclBroadcast, tensor.bytes_data(), tensor.bytes_data(), count(tensor),
        type_of(tensor.dtype()), root);
}

// Queued one by one each would wait for its peer before the next begins.
void NcclQueue::trade(std::span<const Trade> trades) {
  check(ncclGroupStart(), comm(kCompute));
  try {
    for (const Trade& one : trades) {
      queue(kCompute, ncclSend, one.sent.bytes_data(), count(one.sent), type_of(one.sent.dtype()),
            one.peer);
      queue(kCompute, ncclRecv, one.got.bytes_data(), count(one.got), type_of(one.got.dtype()),
            one.peer);
    }
  } catch (const Error&) {
    ncclGroupEnd();
    throw;
  }
  check(ncclGroupEnd(), comm(kCompute));
}

// Of the two ranks of an edge the sender is rank 0.
void NcclQueue::send(int stream, const Tensor& tensor) {
  queue(stream, ncclSend, tensor.bytes_data(), count(tensor), type_of(tensor.dtype()), 1);
}

void NcclQueue::recv(int stream, const Tensor& tensor) {
  queue(stream, ncclRecv, tensor.bytes_data(), count(tensor), type_of(tensor.dtype()), 0);
}

ncclComm_t NcclQueue::comm(int stream) const {
  if (aborted_) throw Error(code_, "NCCL: the exchanges of this job were ended");
  return comms_[stream];
}

cudaStream_t NcclQueue::native(int stream) const {
  return static_cast<cudaStream_t>(stream == kCompute ? cuda::stream(device_.index)
                                                      : streams_[stream - 1].get());
}

}  // namespace skein
