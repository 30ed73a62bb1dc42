// The order of the 256 bytes in byte-level BPE: GPT-2's printable bytes 33-126, 161-172, 174-255
// first, then the other 68 in rising order. Id i stands for byte_of_id()[i].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace skein::text {

constexpr bool gpt2_printable(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

constexpr std::array<uint8_t, 256> byte_of_id() {
  std::array<uint8_t, 256> bytes{};
  size_t count = 0;
  for (const bool printable : {true, false})
    for (int byte = 0; byte < 256; ++byte)
      if (gpt2_printable(byte) == printable) bytes[count++] = byte;
  return bytes;
}

constexpr std::array<int32_t, 256> id_of_byte() {
  std::array<int32_t, 256> ids{};
  const auto bytes = byte_of_id();
  for (int32_t id = 0; id < 256; ++id) ids[bytes[id]] = id;
  return ids;
}

}  // namespace skein::text
