// How two ranks prove to each other that they are of one job, before either believes anything else.
// Three frames:
//
//   who listens   number                        32 random bytes
//   who connects  number, proof, hello          of rank, address and destination (frames.h)
//   who listens   proof, reply
//
// Each proof is over both numbers and the text behind it (secret.h). Who connects proves first, so
// a stranger who calls learns nothing that a guess of the secret could be tried on. Who listens
// instead of rank 0, or reads the wire, does get a proof to try guesses on at leisure: only a
// secret of 16 random bytes or more withstands that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "skein/comm/tcp/secret.h"

namespace skein::tcp {

// How many bytes the other side may send before it is believed.
constexpr size_t kGreetingBytes = sizeof(Bits256);
constexpr size_t kLongestHello = 1024, kLongestReply = 4096;

// One connection, for the side that listens.
class HandshakeListener {
 public:
  std::string greeting() const;
  // The hello, where its proof is good; else nothing.
  std::optional<std::string> hello(const Secret& secret, std::string_view content);
  // The answer to a side that has proven its hello.
  std::string reply(const Secret& secret, std::string_view text) const;
  // The answer to one that has not: it can tell that the secrets differ, and learns nothing about
  // ours.
  static std::string reply_to_stranger();

 private:
  Bits256 own_ = fresh_number(), other_{};
};

// For the side that connects.
class HandshakeConnector {
 public:
  explicit HandshakeConnector(const Secret& secret) : secret_(secret) {}
  // Error(failure) unless `greeting` is one.
  std::string hello(std::string_view greeting, std::string_view text);
  // The text of the reply. Error(usage) unless it is proven.
  std::string reply(std::string_view content) const;

 private:
  Secret secret_;
  Bits256 own_ = fresh_number(), other_{};
};

}  // namespace skein::tcp
