#include "mesh.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "skein/comm/flight_recorder.h"
#include "skein/comm/group.h"
#include "skein/core/error.h"
#include "skein/core/last_moment.h"
#include "skein/core/log.h"
#include "skein/core/stop_signals.h"

namespace skein::tcp {
namespace {

constexpr std::chrono::seconds kLongestGoodbye{60}, kLongestAbort{2};
constexpr std::chrono::milliseconds kLongestEnd{1500};

int64_t half_of_memory() { return sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2; }

// docs/exit-codes.md
bool is_of_a_stop(int code) {
  return code == static_cast<int>(ExitCode::requeue) || code == code_without_commit(SIGTERM) ||
         code == code_without_commit(SIGINT);
}

void copy_bytes(const std::byte* from, int64_t bytes, std::byte* to) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

// What is left of a message, as sendmsg takes it.
struct Rest {
  Rest(const Outgoing& message, int64_t most) {
    if (message.written < kTcpHeadBytes)
      add(reinterpret_cast<const std::byte*>(&message.head) + message.written,
          kTcpHeadBytes - message.written);
    const int64_t sent = std::max<int64_t>(0, message.written - kTcpHeadBytes);
    const int64_t left = std::min(most, message.head.bytes - sent);
    if (left > 0) add(message.data + sent, left);
    header.msg_iov = parts;
  }
  void add(const std::byte* data, int64_t bytes) {
    parts[header.msg_iovlen++] = {const_cast<std::byte*>(data), static_cast<size_t>(bytes)};
  }

  iovec parts[2];
  msghdr header{};
};

}  // namespace

TcpMesh::TcpMesh(int rank, std::vector<TcpPeer> peers, int64_t most_unasked, double keepalive)
    : rank_(rank),
      most_unasked_(most_unasked > 0 ? most_unasked : half_of_memory()),
      keepalive_(keepalive),
      peers_(peers.size()),
      alarm_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!alarm_)
    fail("rank {} has no descriptor left for its connections: {}; raise 'ulimit -n'", rank,
         std::strerror(errno));
  for (size_t r = 0; r < peers.size(); ++r) {
    peers_[r].socket = std::move(peers[r].socket);
    peers_[r].name = std::move(peers[r].name);
    if (peers_[r].socket) set_keepalive(peers_[r].socket, keepalive_);
  }
  if (size() > 1) thread_ = std::thread([this] { run(); });
}

TcpMesh::~TcpMesh() {
  if (std::uncaught_exceptions() == 0)
    say_goodbye();
  else
    tell_of_loss();
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
}

std::string TcpMesh::name(int rank) const {
  return fmt::format("rank {} ({})", rank, peers_[rank].name);
}

std::shared_ptr<Outgoing> TcpMesh::send(const Channel& to, const std::byte* data, int64_t bytes) {
  auto message = std::make_shared<Outgoing>();
  message->peer = to.peer;
  message->head = {.group = to.group, .tag = to.tag, .bytes = bytes};
  message->data = data;
  const Lock lock(mutex_);
  if (to.peer == rank_) {
    const std::shared_ptr<Incoming> received = begin(to, bytes);
    copy_bytes(data, bytes, target_of(*received));
    finish(received);
    message->done = true;
  } else if (peer(to.peer).socket && !peer(to.peer).left && !failed_) {
    message->queued = true;
    peer(to.peer).queue.push_back(message);
    if (peer(to.peer).queue.size() == 1) write_to(to.peer);
    if (!message->done) wake();
  }
  return message;
}

std::shared_ptr<Incoming> TcpMesh::receive(const Channel& from, std::byte* into, int64_t bytes) {
  Lock lock(mutex_);
  std::shared_ptr<Incoming> message = take_first(arrived_, from);
  const bool begun = message != nullptr;
  if (begun) unasked_ -= std::exchange(message->unasked, 0);
  if (!begun) message = asked_[from].emplace_back(std::make_shared<Incoming>(from));
  message->wanted = bytes;
  if (!begun || message->bytes == bytes) message->into = into;
  const int64_t here = message->done ? bytes : message->read;
  if (message->done) lock.unlock();
  if (begun && message->into) copy_bytes(message->copy.get(), here, into);
  return message;
}

void TcpMesh::wait(const Outgoing& message) {
  Lock lock(mutex_);
  const Peer& to = peer(message.peer);
  changed_.wait(lock, [&] { return message.done || in_vain() || !to.socket || !message.queued; });
  if (!message.done)
    cannot(lock, message.peer,
           fmt::format("rank {}'s send of {} bytes with tag {}", rank_, message.head.bytes,
                       message.head.tag));
}

void TcpMesh::wait(const Incoming& message) {
  Lock lock(mutex_);
  const auto [source, group, tag] = message.channel;
  const std::string what = fmt::format("rank {}'s receive of {} bytes from rank {} with tag {}",
                                       rank_, message.wanted, source, tag);
  if (source == rank_ && !message.done)
    throw Error(ExitCode::internal, fmt::format("{} was never sent", what));
  const Peer& from = peer(source);
  changed_.wait(lock, [&] {
    return message.done || is_of_another_size(message) || in_vain() || !from.socket || from.left;
  });
  if (failed_ || (!message.done && !is_of_another_size(message))) cannot(lock, source, what);
  if (is_of_another_size(message))
    throw Error(ExitCode::internal,
                fmt::format("{} met a message of {} bytes from {}{}", what, message.bytes,
                            name(source), in_another_exchange()));
}

// A thread that is about to end this process has told why; what others notice meanwhile follows
// from it.
void TcpMesh::stay_if_aborting(Lock& lock) {
  while (aborting_) changed_.wait(lock);
}

void TcpMesh::cannot(Lock& lock, int rank, const std::string& what) {
  stay_if_aborting(lock);
  failed_ = in_vain();
  if (!broken_.empty())
    throw LostRank(fmt::format("rank {} can no longer receive: {}", rank_, broken_));
  if (lost_ >= 0)
    throw LostRank(fmt::format(
        "{} {}{}; look for the first error of the job", name(lost_),
        unanswered_ ? fmt::format("has not answered for {:g} s: its host is down or cut off, or "
                                  "needs a higher SKEIN_KEEPALIVE",
                                  keepalive_)
                    : "is gone",
        loss_told_by_ >= 0 ? ", says " + name(loss_told_by_) : ""));
  throw LostRank(
      fmt::format("{} cannot complete: {} has ended without taking part", what, name(rank)));
}

void TcpMesh::let_go(Outgoing& message) {
  const Lock lock(mutex_);
  if (message.done || !message.queued) return;
  message.copy = room_for(message.head.bytes);
  copy_bytes(message.data, message.head.bytes, message.copy.get());
  message.data = message.copy.get();
}

void TcpMesh::let_go(Incoming& message) {
  const Lock lock(mutex_);
  if (message.done || !message.into) return;
  if (message.bytes >= 0) message.copy = room_for(message.bytes);
  message.into = nullptr;
}

void TcpMesh::abort(int code) {
  Lock lock(mutex_);
  stay_if_aborting(lock);
  aborting_ = true;
  for (int r = 0; r < size(); ++r) queue_control(r, TcpKind::abort, code);
  changed_.wait_for(lock, kLongestAbort, [&] {
    return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return !peer.socket; });
  });
  std::_Exit(code);
}

// Nobody else has the lock, so none could end this rank where its storage or its log hangs.
void TcpMesh::end_as_told(int rank, int code) {
  end_anyway(kLongestEnd, code);
  take_away_what_is_left();
  if (is_of_a_stop(code))
    log::write(
        log::Level::info,
        fmt::format("rank {}: {} was asked to stop, and the job ends with it", rank_, name(rank)));
  else
    log::write(log::Level::error,
               fmt::format("rank {}: {} has ended the job with exit code {}; its message says why",
                           rank_, name(rank), code));
  std::_Exit(code);
}

void TcpMesh::say_goodbye() {
  Lock lock(mutex_);
  leaving_ = true;
  for (int r = 0; r < size(); ++r)
    if (!peer(r).left) queue_control(r, TcpKind::goodbye);
  const auto settled = [](const Peer& peer) {
    return !peer.socket || (peer.queue.empty() && (peer.left || peer.answered));
  };
  const bool all = changed_.wait_for(lock, kLongestGoodbye, [&] {
    return !broken_.empty() || std::all_of(peers_.begin(), peers_.end(), settled);
  });
  if (!broken_.empty())
    log::write(log::Level::error, fmt::format("rank {}, at its end: {}", rank_, broken_));
  else if (!all)
    log::write(log::Level::warn,
               fmt::format("rank {}: not all ranks have answered its goodbye", rank_));
}

// The others are to name the rank that was lost first, not those that end because of it.
void TcpMesh::tell_of_loss() {
  const Lock lock(mutex_);
  for (int r = 0; r < size() && lost_ >= 0; ++r) queue_control(r, TcpKind::loss, lost_);
}

// Behind the message that is on its way, and what ends the job before those that are not.
void TcpMesh::queue_control(int rank, TcpKind kind, int code) {
  Peer& to = peer(rank);
  if (!to.socket) return;
  auto message = std::make_shared<Outgoing>();
  message->head = {.kind = kind, .code = code};
  const bool begun = !to.queue.empty() && to.queue.front()->written > 0;
  const bool urgent = kind == TcpKind::abort || kind == TcpKind::loss;
  to.queue.insert(urgent ? to.queue.begin() + begun : to.queue.end(), std::move(message));
  write_to(rank);
  wake();
}

void TcpMesh::wake() {
  const uint64_t one = 1;
  if (write(alarm_.descriptor(), &one, sizeof(one)) < 0) return;  // it rings already
}

void TcpMesh::write_to(int rank) {
  Peer& to = peer(rank);
  int64_t left = kTurn;
  while (to.socket && !to.queue.empty() && left > 0) {
    Outgoing& message = *to.queue.front();
    const Rest rest(message, left);
    const ssize_t sent = sendmsg(to.socket.descriptor(), &rest.header, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0 && errno == EINTR) continue;
    // The reader closes, for a peer's last words may still be on their way.
    if (sent < 0) return to.queue.clear();
    message.written += sent;
    left -= sent;
    if (message.written < kTcpHeadBytes + message.head.bytes) continue;
    message.done = true;
    to.queue.pop_front();
    changed_.notify_all();
  }
}

}  // namespace skein::tcp
