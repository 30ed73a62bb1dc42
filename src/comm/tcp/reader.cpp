// The half of TcpMesh that its own thread runs.
#include <cerrno>
#include <exception>
#include <new>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "skein/core/error.h"

#include "mesh.h"

namespace skein::tcp {
namespace {

constexpr int kLooks = 8;  // at silent hosts, while one may be silent

}  // namespace

void TcpMesh::run() {
  try {
    while (step()) {
    }
  } catch (const std::exception& error) {
    const Lock lock(mutex_);
    broken_ = error.what();
    changed_.notify_all();
  }
}

bool TcpMesh::step() {
  std::vector<pollfd> watched{{alarm_.descriptor(), POLLIN, 0}};
  {
    const Lock lock(mutex_);
    if (stopping_) return false;
    for (const Peer& each : peers_)
      watched.push_back({each.socket.descriptor(),
                         static_cast<short>(each.queue.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  }
  if (poll(watched.data(), watched.size(), static_cast<int>(1000 * keepalive_ / kLooks)) < 0)
    return true;
  uint64_t rings = 0;
  if (watched[0].revents && read(alarm_.descriptor(), &rings, sizeof(rings)) < 0) return true;
  for (int r = 0; r < size(); ++r) {
    const short found = watched[r + 1].revents;
    const Lock lock(mutex_);
    if (found & ~POLLOUT) read_from(r);
    if (found & POLLOUT) write_to(r);
  }
  close_unanswered();
  return true;
}

void TcpMesh::close_unanswered() {
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_at_ < std::chrono::duration<double>(keepalive_ / kLooks)) return;
  asked_at_ = now;
  const Lock lock(mutex_);
  for (int r = 0; r < size(); ++r) {
    if (!is_unanswered(peer(r).socket, keepalive_)) continue;
    unanswered_ = unanswered_ || lost_ < 0;
    close(r);
  }
}

void TcpMesh::read_from(int rank) {
  int64_t left = kTurn;
  while (left > 0) {
    const int64_t came = read_some(rank);
    if (came == 0) return;
    left -= came;
  }
}

int64_t TcpMesh::read_some(int rank) {
  Peer& from = peer(rank);
  if (!from.socket) return 0;
  Incoming* const message = from.incoming.get();
  std::byte* const target =
      message ? target_of(*message) : reinterpret_cast<std::byte*>(&from.head);
  int64_t& done = message ? message->read : from.head_read;
  const int64_t whole = message ? message->bytes : kTcpHeadBytes;
  const ssize_t came = recv(from.socket.descriptor(), target + done, whole - done, 0);
  if (came < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (came <= 0) {
    unanswered_ = unanswered_ || (came < 0 && errno == ETIMEDOUT && lost_ < 0);
    return close(rank), 0;
  }
  done += came;
  if (done < whole) return came;
  if (message)
    finish(std::exchange(from.incoming, nullptr));
  else
    take_head(rank);
  return came;
}

void TcpMesh::take_head(int rank) {
  Peer& from = peer(rank);
  from.head_read = 0;
  const std::string fault = fault_of(from.head, size());
  if (!fault.empty()) accuse(rank, fault);
  switch (from.head.kind) {
    case TcpKind::message:
      if (from.left) accuse(rank, "a message after its goodbye");
      from.incoming = begin_within({rank, from.head.group, from.head.tag}, from.head.bytes);
      if (from.head.bytes == 0) finish(std::exchange(from.incoming, nullptr));
      return;
    case TcpKind::goodbye:
      if (std::exchange(from.left, true)) accuse(rank, "a second goodbye");
      queue_control(rank, TcpKind::farewell);
      break;
    case TcpKind::farewell:
      if (!leaving_ || std::exchange(from.answered, true))
        accuse(rank, "an answer to a goodbye that was not said");
      break;
    case TcpKind::loss:
      if (lost_ < 0) lost_ = from.head.code, loss_told_by_ = rank;
      break;
    case TcpKind::abort: end_as_told(rank, from.head.code);
  }
  changed_.notify_all();
}

void TcpMesh::accuse(int rank, const std::string& fault) {
  if (lost_ < 0) lost_ = rank;
  broken_ = fmt::format(
      "{} sent {}; start all ranks from one build, and let no stranger into their network",
      name(rank), fault);
  fail("{}", broken_);
}

std::shared_ptr<Incoming> TcpMesh::take_first(Mail& mail, const Channel& channel) {
  const auto found = mail.find(channel);
  if (found == mail.end()) return nullptr;
  std::shared_ptr<Incoming> first = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) mail.erase(found);
  return first;
}

std::shared_ptr<Incoming> TcpMesh::begin(const Channel& channel, int64_t bytes) {
  std::shared_ptr<Incoming> message = take_first(asked_, channel);
  if (!message) {
    message = std::make_shared<Incoming>(channel);
    arrived_[channel].push_back(message);
  }
  message->bytes = bytes;
  if (message->wanted != bytes) message->into = nullptr;
  if (is_of_another_size(*message)) changed_.notify_all();
  if (!message->into) message->copy = room_for(bytes);
  return message;
}

std::shared_ptr<Incoming> TcpMesh::begin_within(const Channel& channel, int64_t bytes) {
  const auto asked = asked_.find(channel);
  const bool expected = asked != asked_.end() && asked->second.front()->wanted == bytes;
  if (expected) return begin(channel, bytes);
  const int64_t room = most_unasked_ - unasked_ - kUnasked;
  if (bytes > room)
    accuse(channel.peer, fmt::format("a message of {} bytes with tag {} that nobody has asked for, "
                                     "beside {} bytes of others; at most {} are kept",
                                     bytes, channel.tag, unasked_, most_unasked_));
  std::shared_ptr<Incoming> message;
  try {
    message = begin(channel, bytes);
  } catch (const std::bad_alloc&) {
    accuse(channel.peer,
           fmt::format(
               "a message of {} bytes that nobody has asked for, and there is no memory for it",
               bytes));
  }
  unasked_ += message->unasked = bytes + kUnasked;
  return message;
}

void TcpMesh::finish(const std::shared_ptr<Incoming>& message) {
  message->done = true;
  changed_.notify_all();
}

void TcpMesh::close(int rank) {
  Peer& gone = peer(rank);
  gone.socket.close();
  gone.queue.clear();
  if (!gone.left && !leaving_ && lost_ < 0) lost_ = rank;
  changed_.notify_all();
}

}  // namespace skein::tcp
