// Manifests of checkpoints: the input with its sum put right, so that what lies behind the sum is
// reached.
#include "skein/checkpoint/manifest.h"
#include "skein/formats/crc32c.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  const uint32_t sum = skein::formats::crc32c(std::as_bytes(std::span(input.data(), input.size())));
  skein::checkpoint::parse_manifest(
      std::string(input) + fmt::format(" \"crc32c\": \"{:08x}\"\n}}\n", sum), "fuzz");
}
