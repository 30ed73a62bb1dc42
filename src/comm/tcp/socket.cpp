#include "socket.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "skein/comm/tcp/frames.h"
#include "skein/core/host.h"

namespace skein::tcp {
namespace {

// An address that does not answer must not use up the time of the others.
constexpr double kConnectSeconds = 5;

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

std::string text_of(int error) { return std::strerror(error); }

void switch_on(const Socket& socket, int level, int option, int value = 1) {
  setsockopt(socket.descriptor(), level, option, &value, sizeof(value));
}

void settle(const Socket& socket) {
  switch_on(socket, IPPROTO_TCP, TCP_NODELAY);
  set_keepalive(socket, kKeepalive);
}

bool ready(const Socket& socket, short events, const Deadline& deadline) {
  while (true) {
    pollfd wanted{socket.descriptor(), events, 0};
    const int found = poll(&wanted, 1, deadline.milliseconds());
    if (found > 0) return true;
    if (found == 0 || errno != EINTR) return false;
  }
}

Socket new_socket(int family) {
  return Socket(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

std::string numeric_host(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST] = "";
  getnameinfo(address, length, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  const std::string text(host);
  return text.starts_with("::ffff:") ? text.substr(7) : text;
}

// ask: getsockname or getpeername
template <class Ask>
Address end_by(const Ask& ask, const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  ask(socket.descriptor(), reinterpret_cast<sockaddr*>(&storage), &length);
  const auto* address = reinterpret_cast<const sockaddr*>(&storage);
  const uint16_t port = storage.ss_family == AF_INET6
                            ? reinterpret_cast<const sockaddr_in6&>(storage).sin6_port
                            : reinterpret_cast<const sockaddr_in&>(storage).sin_port;
  return {numeric_host(address, length), ntohs(port)};
}

AddressList look_up(const Address& address, std::string& fault) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &list);
  if (code != 0) fault = fmt::format("{}: {}", address.host, gai_strerror(code));
  return {code == 0 ? list : nullptr, freeaddrinfo};
}

// "" once it listens.
std::string try_to_listen(const Socket& socket, const addrinfo& address) {
  if (!socket) return text_of(errno);
  switch_on(socket, SOL_SOCKET, SO_REUSEADDR);
  if (address.ai_family == AF_INET6) switch_on(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  const bool good = bind(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0 &&
                    listen(socket.descriptor(), SOMAXCONN) == 0;
  return good ? "" : text_of(errno);
}

// 0 once connected, else the error's number.
int try_to_connect(const Socket& socket, const addrinfo& address, const Deadline& deadline) {
  if (!socket) return errno;
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (!ready(socket, POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t length = sizeof(error);
    getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return error;
  }
  // Where nobody listens, TCP may connect a port of this host to itself.
  const Address own = own_end(socket), other = other_end(socket);
  return own.port == other.port && own.host == other.host ? ECONNREFUSED : 0;
}

bool is_no_way(int error) { return error == EHOSTUNREACH || error == ENETUNREACH; }

[[noreturn]] void fail_closed(ssize_t moved) {
  throw Silence("the connection was closed" + (moved == 0 ? "" : ": " + text_of(errno)));
}

bool wait_for_more(ssize_t moved) { return moved < 0 && (errno == EAGAIN || errno == EINTR); }

}  // namespace

int Deadline::milliseconds() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

Deadline Deadline::within(double seconds) const {
  Deadline earlier(seconds);
  earlier.at_ = std::min(at_, earlier.at_);
  return earlier;
}

void Socket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

bool is_loopback(const std::string& host) {
  in_addr four{};
  const bool is_four = inet_pton(AF_INET, host.c_str(), &four) == 1;
  return host == "localhost" || host == "::1" || (is_four && ntohl(four.s_addr) >> 24 == 127);
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {"127.0.0.1"};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  for (const ifaddrs* each = list; each; each = each->ifa_next) {
    const int family = each->ifa_addr ? each->ifa_addr->sa_family : AF_UNSPEC;
    if (!(each->ifa_flags & IFF_UP) || (family != AF_INET && family != AF_INET6)) continue;
    const std::string host = numeric_host(
        each->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (!host.starts_with("fe80:")) found.push_back(host);
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const std::string& host) { return !is_loopback(host); });
  return found;
}

Address own_end(const Socket& socket) { return end_by(getsockname, socket); }
Address other_end(const Socket& socket) { return end_by(getpeername, socket); }

Socket listen_at(const Address& address) {
  std::string fault;
  for (const std::string& host : address.host.empty() ? std::vector<std::string>{"::", "0.0.0.0"}
                                                      : std::vector{address.host}) {
    const AddressList list = look_up({host, address.port}, fault);
    for (const addrinfo* each = list.get(); each; each = each->ai_next) {
      Socket made = new_socket(each->ai_family);
      fault = try_to_listen(made, *each);
      if (fault.empty()) return made;
    }
  }
  fail("port {} of this host ({}) cannot be listened at: {}", address.port, host_name(), fault);
}

Socket accept_from(const Socket& listener) {
  Socket came(accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (came) settle(came);
  return came;
}

Socket connect_to(const Address& address, const Deadline& deadline, NoConnection& why) {
  why.final = why.no_way = false;
  const AddressList list = look_up(address, why.text);
  for (const addrinfo* each = list.get(); each; each = each->ai_next) {
    Socket made = new_socket(each->ai_family);
    const int error = try_to_connect(made, *each, deadline.within(kConnectSeconds));
    if (error == 0) return settle(made), std::move(made);
    why = {fmt::format("{}: {}", address.str(), text_of(error)), error == ECONNREFUSED,
           is_no_way(error)};
  }
  return {};
}

void set_keepalive(const Socket& socket, double seconds) {
  constexpr int kProbes = 3;
  const auto whole = [](double time) { return std::max(1, static_cast<int>(time)); };
  switch_on(socket, SOL_SOCKET, SO_KEEPALIVE);
  switch_on(socket, IPPROTO_TCP, TCP_KEEPIDLE, whole(seconds / 2));
  switch_on(socket, IPPROTO_TCP, TCP_KEEPINTVL, whole(seconds / 2 / kProbes));
  switch_on(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

// Not TCP_USER_TIMEOUT, which also counts the time in which a process takes nothing.
bool is_unanswered(const Socket& socket, double seconds) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (!socket || getsockopt(socket.descriptor(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
    return false;
  return info.tcpi_unacked > 0 && info.tcpi_last_ack_recv > 1000 * seconds;
}

bool is_closed(const Socket& socket) {
  char next = 0;
  const ssize_t found = recv(socket.descriptor(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return found == 0 || (found < 0 && errno != EAGAIN && errno != EINTR);
}

bool FrameReader::take(const Socket& socket, std::string& into, size_t whole) {
  const size_t done = into.size();
  if (done == whole) return true;
  into.resize(whole);
  const ssize_t came = recv(socket.descriptor(), into.data() + done, whole - done, 0);
  const bool more = came > 0 || wait_for_more(came);
  if (!more) fail_closed(came);
  into.resize(done + std::max<ssize_t>(came, 0));
  return came > 0;
}

bool FrameReader::read(const Socket& socket) {
  while (head_.size() < sizeof(FrameHead))
    if (!take(socket, head_, sizeof(FrameHead))) return false;
  const size_t whole = content_bytes(head_, most_);
  while (content_.size() < whole)
    if (!take(socket, content_, whole)) return false;
  return true;
}

void send_frame(const Socket& socket, const std::string& content, const Deadline& deadline) {
  const std::string frame = frame_of(content);
  for (size_t sent = 0; sent < frame.size();) {
    const ssize_t now =
        send(socket.descriptor(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (now > 0) sent += now;
    if (now > 0) continue;
    if (!wait_for_more(now)) fail_closed(now);
    if (!ready(socket, POLLOUT, deadline)) throw Silence("no answer came in time");
  }
}

std::string receive_frame(const Socket& socket, size_t most, const Deadline& deadline) {
  FrameReader reader(most);
  while (!reader.read(socket))
    if (!ready(socket, POLLIN, deadline)) throw Silence("no answer came in time");
  return reader.content();
}

bool send_frame_at_once(const Socket& socket, const std::string& content) {
  const std::string frame = frame_of(content);
  return send(socket.descriptor(), frame.data(), frame.size(), MSG_NOSIGNAL) == std::ssize(frame);
}

}  // namespace skein::tcp
