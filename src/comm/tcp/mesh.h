// The messages of a TCP job: one connection to each rank, and one thread that reads them all and
// writes what a sender could not write at once. Nothing waits for a receiver; what nobody has asked
// for yet is kept.
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "skein/comm/tcp/head.h"
#include "skein/core/numbers.h"

#include "rendezvous.h"

namespace skein::tcp {

// Messages with equal ones stay in order.
struct Channel {
  int peer = 0;
  uint64_t group = 0;
  int64_t tag = 0;
  auto operator<=>(const Channel&) const = default;
};

using Bytes = std::unique_ptr<std::byte[]>;

inline Bytes room_for(int64_t bytes) { return std::make_unique_for_overwrite<std::byte[]>(bytes); }

struct Outgoing {
  int peer = 0;
  TcpHead head;
  const std::byte* data = nullptr;
  Bytes copy;           // of data, once that may be gone
  int64_t written = 0;  // of head and data
  bool queued = false;  // false for a peer that takes no more
  bool done = false;
};

struct Incoming {
  explicit Incoming(const Channel& from) : channel(from) {}

  Channel channel;
  std::byte* into = nullptr;  // null: into `copy`
  Bytes copy;
  int64_t wanted = -1;  // bytes that the receiver expects; -1 before it has asked
  int64_t bytes = -1;   // of the message; -1 before it has begun to come
  int64_t read = 0;
  int64_t unasked = 0;  // what it counts for while nobody has asked for it
  bool done = false;
};

// The rest of such a one need not come: nobody can take it.
inline bool is_of_another_size(const Incoming& message) {
  return message.wanted >= 0 && message.bytes >= 0 && message.bytes != message.wanted;
}

inline std::byte* target_of(Incoming& message) {
  return message.into ? message.into : message.copy.get();
}

class TcpMesh {
 public:
  // most_unasked: of messages that came before they were asked for (TcpJob); 0: half of the memory.
  // keepalive: as TcpJob has it.
  TcpMesh(int rank, std::vector<TcpPeer> peers, int64_t most_unasked = 0,
          double keepalive = kKeepalive);
  // Says goodbye first, unless an exception is on its way.
  ~TcpMesh();

  int rank() const { return rank_; }
  int size() const { return narrow<int>(peers_.size()); }
  // "rank 2 (node7:4711)"
  std::string name(int rank) const;
  // Never given twice in a job.
  uint64_t new_group() { return (uint64_t{1} + rank_) << 32 | ++groups_; }

  std::shared_ptr<Outgoing> send(const Channel& to, const std::byte* data, int64_t bytes);
  std::shared_ptr<Incoming> receive(const Channel& from, std::byte* into, int64_t bytes);
  void wait(const Outgoing& message);
  void wait(const Incoming& message);
  // The caller's buffer is not touched again.
  void let_go(Outgoing& message);
  void let_go(Incoming& message);
  [[noreturn]] void abort(int code);

 private:
  struct Peer {
    Socket socket;
    std::string name;
    std::deque<std::shared_ptr<Outgoing>> queue;
    TcpHead head;  // of the message that is coming
    int64_t head_read = 0;
    std::shared_ptr<Incoming> incoming;
    bool left = false;      // has said goodbye
    bool answered = false;  // our goodbye
  };
  using Lock = std::unique_lock<std::mutex>;

  Peer& peer(int rank) { return peers_[rank]; }
  void run();
  bool step();
  void wake();

  void read_from(int rank);
  // Bytes that came; 0 when there are no more for now.
  int64_t read_some(int rank);
  void take_head(int rank);
  // The receive that a new message belongs to.
  std::shared_ptr<Incoming> begin(const Channel& channel, int64_t bytes);
  // The same, for one from another rank, which may not send more than can be kept.
  std::shared_ptr<Incoming> begin_within(const Channel& channel, int64_t bytes);
  // Ends the job at the next wait: that rank has sent what none may.
  [[noreturn]] void accuse(int rank, const std::string& fault);
  void finish(const std::shared_ptr<Incoming>& message);
  void close(int rank);
  void close_unanswered();

  void write_to(int rank);
  void queue_control(int rank, TcpKind kind, int code = 0);
  void say_goodbye();
  void tell_of_loss();

  bool in_vain() const { return lost_ >= 0 || !broken_.empty(); }
  [[noreturn]] void cannot(Lock& lock, int rank, const std::string& what);
  void stay_if_aborting(Lock& lock);
  [[noreturn]] void end_as_told(int rank, int code);

  // The first of a channel; null when there is none.
  using Mail = std::map<Channel, std::deque<std::shared_ptr<Incoming>>>;
  static std::shared_ptr<Incoming> take_first(Mail& mail, const Channel& channel);

  static constexpr int64_t kTurn = 1 << 20;  // bytes moved before others may have the lock
  // What a message counts for beside its bytes: an empty one, the first of its channel, takes 900.
  static constexpr int64_t kUnasked = 1024;

  const int rank_;
  const int64_t most_unasked_;
  const double keepalive_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Peer> peers_;
  Mail asked_, arrived_;   // a channel is in one of them at most
  int64_t unasked_ = 0;    // of all that another rank has sent and nobody has asked for
  int lost_ = -1;          // the first rank that was gone without a goodbye, or sent what none may
  int loss_told_by_ = -1;  // who has said so, where this rank has not seen it itself
  bool unanswered_ = false;  // its host has not answered
  std::string broken_;       // why the thread has ended
  // An exchange has failed here. Messages of it that still come must not be taken for those of a
  // later one, where the error was only told; nor must others get one of a later one from here.
  bool failed_ = false;
  bool leaving_ = false, stopping_ = false, aborting_ = false;
  std::atomic<uint32_t> groups_ = 0;
  Socket alarm_;
  std::chrono::steady_clock::time_point asked_at_;  // when the thread last looked for silent hosts
  std::thread thread_;
};

}  // namespace skein::tcp
