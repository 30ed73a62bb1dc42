#include "skein/comm/tcp/secret.h"

#include <cerrno>
#include <cstring>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <sys/random.h>

#include "skein/core/error.h"

namespace skein::tcp {
namespace {

// HMAC-SHA256 of what is added.
class Hmac {
 public:
  explicit Hmac(std::string_view key) {
    hmac_sha256_set_key(&context_, key.size(), reinterpret_cast<const uint8_t*>(key.data()));
  }
  explicit Hmac(const Bits256& key) { hmac_sha256_set_key(&context_, key.size(), key.data()); }

  Hmac& add(std::string_view text) {
    hmac_sha256_update(&context_, text.size(), reinterpret_cast<const uint8_t*>(text.data()));
    return *this;
  }
  Hmac& add(const Bits256& number) {
    hmac_sha256_update(&context_, number.size(), number.data());
    return *this;
  }
  Bits256 digest() {
    Bits256 made;
    hmac_sha256_digest(&context_, made.size(), made.data());
    return made;
  }

 private:
  hmac_sha256_ctx context_;
};

// Of one length, so that no text of one side can be read as one of the other.
std::string_view label(HandshakeSide side) {
  return side == HandshakeSide::connects ? "skein rank that connects" : "skein rank that listens.";
}

void fill_random(void* into, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t now = getrandom(static_cast<char*>(into) + done, bytes - done, 0);
    if (now < 0 && errno != EINTR)
      fail("the system gives no random numbers for the rendezvous: {}", std::strerror(errno));
    if (now > 0) done += now;
  }
}

}  // namespace

Bits256 fresh_number() {
  Bits256 made;
  fill_random(made.data(), made.size());
  return made;
}

uint64_t fresh_job_number() {
  uint64_t made = 0;
  while (made == 0) fill_random(&made, sizeof(made));
  return made;
}

std::string fresh_secret() { return fmt::format("{:02x}", fmt::join(fresh_number(), "")); }

Secret::Secret(std::string_view of_environment, std::string_view of_file)
    : key_(Hmac(of_environment).add("skein rendezvous file").add(of_file).digest()) {}

Secret Secret::of_job(uint64_t job) const {
  Secret made;
  made.key_ = Hmac(key_).add(fmt::format("skein job {:016x}", job)).digest();
  return made;
}

Bits256 Secret::proof(HandshakeSide side, const Bits256& of_listener, const Bits256& of_connector,
                      std::string_view text) const {
  return Hmac(key_).add(label(side)).add(of_listener).add(of_connector).add(text).digest();
}

bool equal_in_constant_time(const Bits256& a, const Bits256& b) {
  return memeql_sec(a.data(), b.data(), a.size()) != 0;
}

}  // namespace skein::tcp
