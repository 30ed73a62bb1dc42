#include "skein/comm/tcp/handshake.h"

#include <algorithm>

#include "skein/core/error.h"

namespace skein::tcp {
namespace {

std::string bytes_of(const Bits256& number) { return {number.begin(), number.end()}; }

// Takes one off the front of `content`, which holds as many bytes.
Bits256 take_number(std::string_view& content) {
  Bits256 taken;
  std::copy_n(content.begin(), taken.size(), taken.begin());
  content.remove_prefix(taken.size());
  return taken;
}

}  // namespace

std::string HandshakeListener::greeting() const { return bytes_of(own_); }

std::optional<std::string> HandshakeListener::hello(const Secret& secret,
                                                    std::string_view content) {
  if (content.size() < 2 * sizeof(Bits256)) return std::nullopt;
  other_ = take_number(content);
  const Bits256 proof = take_number(content);
  if (!equal_in_constant_time(proof, secret.proof(HandshakeSide::connects, own_, other_, content)))
    return std::nullopt;
  return std::string(content);
}

std::string HandshakeListener::reply(const Secret& secret, std::string_view text) const {
  return bytes_of(secret.proof(HandshakeSide::listens, own_, other_, text)) + std::string(text);
}

std::string HandshakeListener::reply_to_stranger() { return bytes_of(Bits256{}); }

std::string HandshakeConnector::hello(std::string_view greeting, std::string_view text) {
  if (greeting.size() != sizeof(Bits256)) fail("the other end is no rank that listens");
  other_ = take_number(greeting);
  return bytes_of(own_) + bytes_of(secret_.proof(HandshakeSide::connects, other_, own_, text)) +
         std::string(text);
}

std::string HandshakeConnector::reply(std::string_view content) const {
  Bits256 proof{};
  if (content.size() >= sizeof(Bits256)) proof = take_number(content);
  require(
      equal_in_constant_time(proof, secret_.proof(HandshakeSide::listens, other_, own_, content)),
      "the other end has another secret, or only one of the two has one; give all ranks of the job "
      "the same SKEIN_RENDEZVOUS_SECRET");
  return std::string(content);
}

}  // namespace skein::tcp
