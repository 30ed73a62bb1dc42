// A process that connects to a rank and is none, or plays one.
#pragma once

#include <cerrno>

#include "skein/comm/tcp/frames.h"
#include "skein/comm/tcp/handshake.h"
#include "skein/comm/tcp/head.h"

#include "comm/tcp_fixture.h"

namespace skein::test {

// A connection to that port of this host; -1 when nobody listens there.
inline int connected(int port) {
  const sockaddr_in address = loopback(port);
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return made;
  close(made);
  return -1;
}

template <class Head = tcp::TcpHead>
std::string bytes_of_head(const Head& head) {
  return {reinterpret_cast<const char*>(&head), sizeof(head)};
}

class Caller {
 public:
  // Connects as soon as somebody listens at that port of this host.
  explicit Caller(int port) {
    for (int turn = 0; turn < 1000 && descriptor_ < 0; ++turn) {
      if (turn > 0) pause(5);
      descriptor_ = connected(port);
    }
    EXPECT_GE(descriptor_, 0) << "nobody listens at port " << port;
    be_patient();
  }
  // One that has connected to a listener of the test.
  explicit Caller(const Listener& listener)
      : descriptor_(accept4(listener.descriptor, nullptr, nullptr, SOCK_CLOEXEC)) {
    EXPECT_GE(descriptor_, 0) << "nobody connects to port " << listener.port;
    be_patient();
  }
  Caller(Caller&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Caller& operator=(Caller&&) = delete;
  ~Caller() { hang_up(); }

  // False when the other end has closed.
  bool say(std::string_view bytes) const {
    return send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // Fewer when the other end has closed before.
  std::string hear(size_t bytes) const {
    std::string heard(bytes, '\0');
    heard.resize(static_cast<size_t>(
        std::max<ssize_t>(0, recv(descriptor_, heard.data(), bytes, MSG_WAITALL))));
    return heard;
  }
  std::string hear_frame() const {
    const std::string head = hear(sizeof(tcp::FrameHead));
    return head.size() < sizeof(tcp::FrameHead) ? "" : hear(tcp::content_bytes(head, 1 << 20));
  }
  bool hears_the_end() const {
    char next = 0;
    const ssize_t heard = recv(descriptor_, &next, 1, 0);
    return heard == 0 || (heard < 0 && errno == ECONNRESET);
  }
  void hang_up() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }

 private:
  void be_patient() const { wait_at_most(descriptor_, 20); }

  int descriptor_ = -1;
};

// What `caller` says to be taken for the rank of `hello`; `said` keeps it.
inline tcp::HelloReply join(const Caller& caller, const tcp::Secret& secret,
                            const tcp::Hello& hello, std::string* said = nullptr) {
  tcp::HandshakeConnector side(secret);
  const std::string content = side.hello(caller.hear_frame(), text_of(hello));
  if (said) *said = content;
  caller.say(tcp::frame_of(content));
  return tcp::reply_in(side.reply(caller.hear_frame()));
}

}  // namespace skein::test
