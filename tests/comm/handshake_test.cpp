// What two ranks prove to each other before they believe anything.
#include "skein/comm/tcp/handshake.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <numeric>

#include "skein/core/error.h"

namespace skein {
namespace {

const std::string kSecret = "0123456789abcdef";

std::string digits(const tcp::Bits256& bits) { return fmt::format("{:02x}", fmt::join(bits, "")); }

tcp::Bits256 counted(uint8_t first) {
  tcp::Bits256 bits;
  std::iota(bits.begin(), bits.end(), first);
  return bits;
}

std::string proof_of(const tcp::Secret& secret, tcp::HandshakeSide side, std::string_view text) {
  return digits(secret.proof(side, counted(0), counted(32), text));
}

// Made by Python's hmac and hashlib.
TEST(Secret, ProofsAreHmacSha256) {
  const tcp::Secret both(kSecret, "of the file");
  EXPECT_EQ(proof_of(both, tcp::HandshakeSide::connects, "a hello"),
            "a7fadd2f3e7b208fc6bcefc79c1316facc0c48ad5bc41e2fff89fe001dba8fa1");
  EXPECT_EQ(proof_of(both, tcp::HandshakeSide::listens, "a hello"),
            "8d8860964c9556065be61003b9add7f758399712b3ef6b38c8df412f502809a5");
  EXPECT_EQ(proof_of(both.of_job(7), tcp::HandshakeSide::listens, ""),
            "e1cdf78e20719bf4337c8e8a350384352d7a2df4716520d68a9df416a9834545");
  EXPECT_EQ(proof_of(tcp::Secret(), tcp::HandshakeSide::connects, "x"),
            "c52c28e14fcb01ba529de2effbf8f7fdf15b887674605a5cf43af54202389579");
}

TEST(Secret, NumbersAreFresh) {
  EXPECT_NE(digits(tcp::fresh_number()), digits(tcp::fresh_number()));
  EXPECT_NE(tcp::fresh_secret(), tcp::fresh_secret());
  EXPECT_EQ(tcp::fresh_secret().size(), 64u);
  EXPECT_NE(tcp::fresh_job_number(), tcp::fresh_job_number());
}

TEST(Secret, EveryBitCounts) {
  tcp::Bits256 other = counted(0);
  EXPECT_TRUE(tcp::equal_in_constant_time(counted(0), other));
  for (uint8_t& byte : other) {
    for (int bit = 0; bit < 8; ++bit) {
      byte ^= static_cast<uint8_t>(1 << bit);
      EXPECT_FALSE(tcp::equal_in_constant_time(counted(0), other));
      byte ^= static_cast<uint8_t>(1 << bit);
    }
  }
}

// "welcome" when both sides take each other for one of the job.
std::string meet(const tcp::Secret& listens, const tcp::Secret& connects) {
  tcp::HandshakeListener host;
  tcp::HandshakeConnector guest(connects);
  const auto hello = host.hello(listens, guest.hello(host.greeting(), "hello"));
  EXPECT_EQ(hello.value_or("hello"), "hello");
  try {
    return guest.reply(hello ? host.reply(listens, "welcome")
                             : tcp::HandshakeListener::reply_to_stranger());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
}

TEST(Handshake, WhoKnowsTheSecretIsWelcome) {
  EXPECT_EQ(meet(tcp::Secret(kSecret), tcp::Secret(kSecret)), "welcome");
  EXPECT_EQ(meet(tcp::Secret(kSecret, "f").of_job(3), tcp::Secret(kSecret, "f").of_job(3)),
            "welcome");
  EXPECT_EQ(meet(tcp::Secret(), tcp::Secret()), "welcome");
}

TEST(Handshake, WhoKnowsAnotherIsAStranger) {
  const tcp::Secret own(kSecret, "file");
  for (const tcp::Secret& other :
       {tcp::Secret(), tcp::Secret(kSecret), tcp::Secret("", "file"), tcp::Secret(kSecret, "fil"),
        tcp::Secret(kSecret + "file"), own.of_job(1)}) {
    EXPECT_NE(meet(own, other).find("has another secret"), std::string::npos);
    EXPECT_NE(meet(other, own).find("the same SKEIN_RENDEZVOUS_SECRET"), std::string::npos);
  }
  EXPECT_NE(meet(own.of_job(1), own.of_job(2)), "welcome");
}

TEST(Handshake, AHelloThatWasHeardBeforeIsNotBelieved) {
  const tcp::Secret secret(kSecret);
  tcp::HandshakeListener first, second;
  tcp::HandshakeConnector guest(secret);
  const std::string heard = guest.hello(first.greeting(), "hello");
  EXPECT_TRUE(first.hello(secret, heard));
  EXPECT_FALSE(second.hello(secret, heard));
}

TEST(Handshake, AReplyThatWasHeardBeforeIsNotBelieved) {
  const tcp::Secret secret(kSecret);
  tcp::HandshakeListener host;
  tcp::HandshakeConnector first(secret), second(secret);
  host.hello(secret, first.hello(host.greeting(), "hello"));
  const std::string heard = host.reply(secret, "welcome");
  EXPECT_EQ(first.reply(heard), "welcome");
  second.hello(host.greeting(), "hello");
  EXPECT_THROW(second.reply(heard), Error);
}

// A stranger who calls a rank sends its own words back to it, or to another connection of it.
TEST(Handshake, OnesOwnProofIsNotBelieved) {
  const tcp::Secret secret(kSecret);
  tcp::HandshakeListener host, twin;
  tcp::HandshakeConnector guest(secret);
  const std::string hello = guest.hello(host.greeting(), "hello");
  EXPECT_THROW(guest.reply(hello), Error);
  EXPECT_THROW(guest.reply(hello.substr(32)), Error);
  host.hello(secret, hello);
  const std::string reply = host.reply(secret, "hello");
  EXPECT_FALSE(twin.hello(secret, host.greeting() + reply));
  EXPECT_FALSE(host.hello(secret, host.greeting() + reply));
}

TEST(Handshake, EveryByteCounts) {
  const tcp::Secret secret(kSecret);
  tcp::HandshakeListener host;
  tcp::HandshakeConnector guest(secret);
  const std::string hello = guest.hello(host.greeting(), "hello");
  for (size_t i = 0; i < hello.size(); ++i) {
    std::string changed = hello;
    changed[i] ^= 1;
    EXPECT_FALSE(host.hello(secret, changed)) << i;
    EXPECT_FALSE(host.hello(secret, hello.substr(0, i))) << i;
  }
  EXPECT_FALSE(host.hello(secret, hello + "o"));
  ASSERT_TRUE(host.hello(secret, hello));
  const std::string reply = host.reply(secret, "welcome 1");
  for (size_t i = 0; i < reply.size(); ++i) {
    std::string changed = reply;
    changed[i] ^= 1;
    EXPECT_THROW(guest.reply(changed), Error) << i;
    EXPECT_THROW(guest.reply(reply.substr(0, i)), Error) << i;
  }
  EXPECT_EQ(guest.reply(reply), "welcome 1");
}

TEST(Handshake, AGreetingOfAnotherSizeIsNone) {
  tcp::HandshakeConnector guest{tcp::Secret()};
  for (const size_t bytes : {0, 31, 33})
    EXPECT_THROW(guest.hello(std::string(bytes, 'x'), ""), Error);
}

TEST(Handshake, WhatAStrangerHearsIsTheSameForAll) {
  EXPECT_EQ(tcp::HandshakeListener::reply_to_stranger(), std::string(32, '\0'));
}

}  // namespace
}  // namespace skein
