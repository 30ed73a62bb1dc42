// Sockets of the TCP transport: connections within a deadline, and frames (frames.h) over them.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "skein/comm/tcp/address.h"
#include "skein/core/error.h"

namespace skein::tcp {

class Deadline {
 public:
  explicit Deadline(double seconds)
      : at_(Clock::now() +
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool passed() const { return Clock::now() >= at_; }
  // What is left, at least 0, rounded up.
  int milliseconds() const;
  // The earlier of this and `seconds` from now.
  Deadline within(double seconds) const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point at_;
};

// Owns a descriptor; those made here never block.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket() { close(); }

  void close();
  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// True for the names and numbers of this host that no other host can reach.
bool is_loopback(const std::string& host);
// Numbers of this host's interfaces, loopback last.
std::vector<std::string> own_addresses();

// Numeric.
Address own_end(const Socket& socket);
Address other_end(const Socket& socket);

// An empty host stands for all addresses of this host, port 0 for any free one. Error(failure) when
// the port is taken.
Socket listen_at(const Address& address);
// Who waits to be let in; never waits itself. Without a descriptor, and `errno` says why, when
// there is nobody.
Socket accept_from(const Socket& listener);
struct NoConnection {
  std::string text;
  bool final = false;   // nobody listens there; not that time or files ran out
  bool no_way = false;  // no way leads there, or none for the moment
};

// Without a descriptor, and `why` says so, when no address of the host answers within 5 s.
Socket connect_to(const Address& address, const Deadline& deadline, NoConnection& why);
// The other end has closed, or the connection is broken.
bool is_closed(const Socket& socket);
// A connection over which nothing is sent breaks once the host at its other end has not answered
// for so many seconds; kKeepalive of them where nobody says so.
void set_keepalive(const Socket& socket, double seconds);
constexpr double kKeepalive = 20;
// Whether that host has not answered for so long to what was sent. A process there that stands
// still does not matter: its host answers for it.
bool is_unanswered(const Socket& socket, double seconds);

// The other end has said nothing, or no more: it has closed, or the time is up.
class Silence : public Error {
 public:
  explicit Silence(const std::string& message) : Error(ExitCode::failure, message) {}
};

// What a frame holds, as it comes. The other end may be anybody: no more than `most` bytes are
// taken.
class FrameReader {
 public:
  explicit FrameReader(size_t most) : most_(most) {}
  // True once all is there; never waits. Silence when the connection is closed; Error(failure) when
  // what comes is no frame of this version.
  bool read(const Socket& socket);
  const std::string& content() const { return content_; }

 private:
  // False when nothing has come.
  bool take(const Socket& socket, std::string& into, size_t whole);

  size_t most_;
  std::string head_, content_;
};

// Each throws what says why it cannot: Silence, or Error(failure) at another protocol or version.
void send_frame(const Socket& socket, const std::string& content, const Deadline& deadline);
std::string receive_frame(const Socket& socket, size_t most, const Deadline& deadline);
// False unless the system takes all of it at once.
bool send_frame_at_once(const Socket& socket, const std::string& content);

}  // namespace skein::tcp
