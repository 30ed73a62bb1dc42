// What the ranks of a TCP job know and others do not, and how ranks prove to each other that they
// know it.
//
// A proof is HMAC-SHA256 (RFC 2104, FIPS 180-4) under a key made of the job's secrets, over the
// side that proves, a fresh random number of each side, and the text that it stands for. So neither
// a proof that was heard before nor one's own that is sent back is good again.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace skein::tcp {

// The fewest bytes of a secret: a shorter one could be found by trying.
constexpr size_t kShortestSecret = 16;

// 256 bits: random ones, a key, or a proof.
using Bits256 = std::array<uint8_t, 32>;

// From the system's random numbers. Error(failure) where there are none.
Bits256 fresh_number();
// Never 0.
uint64_t fresh_job_number();
// 64 hexadecimal digits.
std::string fresh_secret();

enum class HandshakeSide { connects, listens };

class Secret {
 public:
  // Made of the secret of the environment and of that of the rendezvous file; "" where there is
  // none. Who knows only one of two proves nothing.
  explicit Secret(std::string_view of_environment = "", std::string_view of_file = "");
  // The secret for connections between ranks that have met: rank 0 tells each the job's number.
  Secret of_job(uint64_t job) const;

  Bits256 proof(HandshakeSide side, const Bits256& of_listener, const Bits256& of_connector,
                std::string_view text) const;

 private:
  Bits256 key_;
};

// Takes the same time wherever they differ, so that time tells nothing.
bool equal_in_constant_time(const Bits256& a, const Bits256& b);

}  // namespace skein::tcp
