// NCCL between emulated devices: the ranks of a communicator meet on their streams, and the last to
// come moves everything; a send waits for its receive, but for those of a group, which begin
// together. Ranks that call different things end the process, where the library would hang or mix
// up their data.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <nccl.h>
#include <string>
#include <utility>
#include <vector>

#include "skein/tensor/dtype.h"

#include "emulated_device.h"
#include "emulated_streams.h"

namespace {

enum class Kind { all_gather, reduce_scatter, all_reduce, broadcast, finalize };

struct Call {
  Kind kind = Kind::finalize;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclUint8;
  int detail = 0;  // the operation, or the root

  bool fits(const Call& other) const {
    return other.kind == kind && other.detail == detail && other.count == count &&
           other.type == type;
  }
};

// One end of a message.
struct Leg {
  size_t peer = 0;
  const std::byte* sent = nullptr;  // of a send, else `into`
  std::byte* into = nullptr;
  size_t bytes = 0;
};

struct Message {
  const std::byte* data;
  size_t bytes;
  bool taken = false;
};

skein::DType dtype_of(ncclDataType_t type) {
  switch (type) {
    case ncclUint8: return skein::DType::u8;
    case ncclInt32: return skein::DType::i32;
    case ncclInt64: return skein::DType::i64;
    case ncclFloat16: return skein::DType::f16;
    case ncclFloat32: return skein::DType::f32;
    case ncclFloat64: return skein::DType::f64;
    case ncclBfloat16: return skein::DType::bf16;
  }
  std::abort();
}

size_t bytes_of(size_t count, ncclDataType_t type) {
  return count * static_cast<size_t>(skein::size_of(dtype_of(type)));
}

// Of one communicator.
struct Meeting {
  explicit Meeting(int ranks) : calls(static_cast<size_t>(ranks)) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Call> calls;  // by rank
  // by sender and receiver, those that wait
  std::map<std::pair<size_t, size_t>, std::deque<std::shared_ptr<Message>>> messages;
  std::vector<std::string> devices;
  size_t arrived = 0;
  int64_t generation = 0;
  bool aborted = false;
};

std::mutex meetings_mutex;
std::map<std::string, std::shared_ptr<Meeting>> meetings;  // by id
int64_t ids = 0;
skein::emulation::NcclCalls calls_so_far;
std::mutex counting;

void count(int64_t skein::emulation::NcclCalls::*what) {
  const std::lock_guard lock(counting);
  ++(calls_so_far.*what);
}

// Block `block` of what each rank gives, `count` elements long, in rank order.
template <class T>
void combine(const std::vector<Call>& calls, size_t block, bool maximum, std::byte* out) {
  const size_t n = calls[0].count;
  std::vector<T> made(n);
  for (size_t i = 0; i < n; ++i) {
    using S = skein::Accumulator<T>;
    S sum{};
    for (size_t r = 0; r < calls.size(); ++r) {
      const S value = static_cast<S>(reinterpret_cast<const T*>(calls[r].in)[block * n + i]);
      sum = r == 0 ? value : maximum ? std::max(sum, value) : static_cast<S>(sum + value);
    }
    made[i] = static_cast<T>(sum);
  }
  std::memcpy(out, made.data(), n * sizeof(T));
}

void combine(const std::vector<Call>& calls, size_t block, std::byte* out) {
  const bool maximum = calls[0].detail == ncclMax;
  if (calls[0].type == ncclInt64) return combine<int64_t>(calls, block, maximum, out);
  skein::visit_float(dtype_of(calls[0].type),
                     [&]<class T>(skein::TypeTag<T>) { combine<T>(calls, block, maximum, out); });
}

void move_all(const std::vector<Call>& calls) {
  const skein::emulation::Access access;
  const size_t ranks = calls.size(), bytes = bytes_of(calls[0].count, calls[0].type);
  std::vector<std::byte> made(bytes * ranks);
  switch (calls[0].kind) {
    case Kind::finalize: return;
    case Kind::broadcast:
      for (const Call& call : calls)
        std::memmove(call.out, calls[static_cast<size_t>(call.detail)].in, bytes);
      return;
    case Kind::all_gather:
      for (size_t r = 0; r < ranks; ++r) std::memcpy(made.data() + r * bytes, calls[r].in, bytes);
      for (const Call& call : calls) std::memcpy(call.out, made.data(), made.size());
      return;
    case Kind::all_reduce:
      combine(calls, 0, made.data());
      for (const Call& call : calls) std::memcpy(call.out, made.data(), bytes);
      return;
    case Kind::reduce_scatter:
      for (size_t r = 0; r < ranks; ++r) combine(calls, r, made.data() + r * bytes);
      for (size_t r = 0; r < ranks; ++r) std::memcpy(calls[r].out, made.data() + r * bytes, bytes);
      return;
  }
}

// Returns when all have come, or when somebody aborts.
void meet(Meeting& meeting, size_t rank, const Call& call) {
  std::unique_lock lock(meeting.mutex);
  if (meeting.aborted) return;
  meeting.calls[rank] = call;
  if (++meeting.arrived < meeting.calls.size()) {
    const int64_t now = meeting.generation;
    meeting.changed.wait(lock, [&] { return meeting.generation != now || meeting.aborted; });
    return;
  }
  for (const Call& other : meeting.calls)
    if (&other != &meeting.calls[0] && !meeting.calls[0].fits(other)) {
      std::fprintf(stderr,
                   "ranks of an NCCL communicator call different things: %d of %zu, %d of %zu\n",
                   static_cast<int>(meeting.calls[0].kind), meeting.calls[0].count,
                   static_cast<int>(other.kind), other.count);
      std::abort();
    }
  move_all(meeting.calls);
  meeting.arrived = 0;
  ++meeting.generation;
  meeting.changed.notify_all();
}

// All sends begin before any receive is waited for. Returns when all are over, or when somebody
// aborts.
void trade(Meeting& meeting, size_t rank, const std::vector<Leg>& legs) {
  std::unique_lock lock(meeting.mutex);
  const auto wait_for = [&](const auto& ready) {
    meeting.changed.wait(lock, [&] { return ready() || meeting.aborted; });
    return !meeting.aborted;
  };
  std::vector<std::shared_ptr<Message>> sent;
  for (const Leg& leg : legs)
    if (leg.sent)
      sent.push_back(meeting.messages[{rank, leg.peer}].emplace_back(
          std::make_shared<Message>(Message{leg.sent, leg.bytes})));
  meeting.changed.notify_all();
  for (const Leg& leg : legs) {
    if (!leg.into) continue;
    auto& waiting = meeting.messages[{leg.peer, rank}];
    if (!wait_for([&] { return !waiting.empty(); })) return;
    Message& message = *waiting.front();
    if (message.bytes != leg.bytes) {
      std::fprintf(stderr, "a receive of %zu bytes met a message of %zu\n", leg.bytes,
                   message.bytes);
      std::abort();
    }
    const skein::emulation::Access access;
    std::memcpy(leg.into, message.data, leg.bytes);
    message.taken = true;
    waiting.pop_front();
    meeting.changed.notify_all();
  }
  for (const auto& message : sent)
    if (!wait_for([&] { return message->taken; })) return;
}

}  // namespace

namespace skein::emulation {

NcclCalls nccl_calls() {
  const std::lock_guard lock(counting);
  return calls_so_far;
}

}  // namespace skein::emulation

struct EmulatedComm {
  std::shared_ptr<Meeting> meeting;
  size_t rank;
  // calls that are queued and not over; under the meeting's lock
  std::shared_ptr<int> pending = std::make_shared<int>(0);
};

namespace {

// work(meeting, rank) runs on the stream.
template <class Work>
ncclResult_t queue_work(ncclComm_t comm, cudaStream_t stream, const Work& work) {
  {
    const std::lock_guard lock(comm->meeting->mutex);
    ++*comm->pending;
  }
  stream->add_kernel([meeting = comm->meeting, rank = comm->rank, pending = comm->pending, work] {
    work(*meeting, rank);
    const std::lock_guard lock(meeting->mutex);
    --*pending;
    meeting->changed.notify_all();
  });
  return ncclSuccess;
}

ncclResult_t queue(const Call& call, ncclComm_t comm, cudaStream_t stream) {
  return queue_work(comm, stream,
                    [call](Meeting& meeting, size_t rank) { meet(meeting, rank, call); });
}

// Messages of this thread's group, all on one stream.
struct OpenGroup {
  bool open = false;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Leg> legs;
};
thread_local OpenGroup group_here;

ncclResult_t queue_legs(const std::vector<Leg>& legs, ncclComm_t comm, cudaStream_t stream) {
  return queue_work(comm, stream,
                    [legs](Meeting& meeting, size_t rank) { trade(meeting, rank, legs); });
}

ncclResult_t queue_leg(const Leg& leg, ncclComm_t comm, cudaStream_t stream) {
  OpenGroup& group = group_here;
  if (!group.open) return queue_legs({leg}, comm, stream);
  if (!group.legs.empty() && (group.comm != comm || group.stream != stream)) std::abort();
  group.comm = comm;
  group.stream = stream;
  group.legs.push_back(leg);
  return ncclSuccess;
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t status) {
  return status == ncclInvalidUsage ? "invalid usage"
                                    : "remote process exited or there was a network error";
}
const char* ncclGetLastError(ncclComm_t) { return "Emulated"; }

ncclResult_t ncclGetVersion(int* version) {
  *version = 22800;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(meetings_mutex);
  std::memset(id->internal, 0, sizeof(id->internal));
  std::snprintf(id->internal, sizeof(id->internal), "communicator %ld", static_cast<long>(++ids));
  return ncclSuccess;
}

// Waits for all ranks, as the library does; no two of them may be on one device.
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t*) {
  std::shared_ptr<Meeting> meeting;
  {
    const std::lock_guard lock(meetings_mutex);
    auto& found = meetings[id.internal];
    if (!found) found = std::make_shared<Meeting>(ranks);
    meeting = found;
  }
  count(&skein::emulation::NcclCalls::begun);
  const std::string device = skein::emulation::identity_of_this_thread();
  bool taken = false;
  {
    const std::lock_guard lock(meeting->mutex);
    for (const std::string& other : meeting->devices) taken = taken || other == device;
    meeting->devices.push_back(device);
  }
  meet(*meeting, static_cast<size_t>(rank), {});
  *comm = new EmulatedComm{std::move(meeting), static_cast<size_t>(rank)};
  return taken ? ncclInvalidUsage : ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* status) {
  const std::lock_guard lock(comm->meeting->mutex);
  *status = comm->meeting->aborted ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  count(&skein::emulation::NcclCalls::finalized);
  {
    std::unique_lock lock(comm->meeting->mutex);
    comm->meeting->changed.wait(lock, [&] { return *comm->pending == 0; });
  }
  meet(*comm->meeting, comm->rank, {});
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  count(&skein::emulation::NcclCalls::aborted);
  {
    const std::lock_guard lock(comm->meeting->mutex);
    comm->meeting->aborted = true;
    comm->meeting->changed.notify_all();
  }
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return queue({Kind::all_gather, static_cast<const std::byte*>(in), static_cast<std::byte*>(out),
                count, type, 0},
               comm, stream);
}

ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return queue({Kind::reduce_scatter, static_cast<const std::byte*>(in),
                static_cast<std::byte*>(out), count, type, op},
               comm, stream);
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return queue({Kind::all_reduce, static_cast<const std::byte*>(in), static_cast<std::byte*>(out),
                count, type, op},
               comm, stream);
}

ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return queue({Kind::broadcast, static_cast<const std::byte*>(in), static_cast<std::byte*>(out),
                count, type, root},
               comm, stream);
}

ncclResult_t ncclGroupStart() {
  group_here = {true, nullptr, nullptr, {}};
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  const OpenGroup group = std::exchange(group_here, {});
  return group.legs.empty() ? ncclSuccess : queue_legs(group.legs, group.comm, group.stream);
}

ncclResult_t ncclSend(const void* in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return queue_leg({static_cast<size_t>(peer), static_cast<const std::byte*>(in), nullptr,
                    bytes_of(count, type)},
                   comm, stream);
}

ncclResult_t ncclRecv(void* out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return queue_leg(
      {static_cast<size_t>(peer), nullptr, static_cast<std::byte*>(out), bytes_of(count, type)},
      comm, stream);
}
