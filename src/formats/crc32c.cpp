#include "skein/formats/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace skein::formats {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? kPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_by_instruction(std::span<const std::byte> bytes,
                                                                 uint32_t before) {
  uint64_t state = ~before;
  while (bytes.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    state = _mm_crc32_u64(state, word);
    bytes = bytes.subspan(8);
  }
  uint32_t rest = static_cast<uint32_t>(state);
  for (const std::byte byte : bytes) rest = _mm_crc32_u8(rest, std::to_integer<uint8_t>(byte));
  return ~rest;
}

#endif

// Products modulo the polynomial. The highest bit is the coefficient of x^0.
uint32_t multiplied(uint32_t left, uint32_t right) {
  uint32_t product = 0;
  for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if (left & bit) product ^= right;
    right = right >> 1 ^ (right & 1 ? kPolynomial : 0);
  }
  return product;
}

}  // namespace

uint32_t crc32c_joined(uint32_t first, uint32_t second, int64_t size) {
  uint32_t moved = first, power = 1u << (31 - 8);  // x^8, then its squares
  for (; size > 0; size >>= 1, power = multiplied(power, power))
    if (size & 1) moved = multiplied(moved, power);
  return moved ^ second;
}

uint32_t crc32c_by_table(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t state = ~before;
  for (const std::byte byte : bytes)
    state = kTable[(state ^ std::to_integer<uint32_t>(byte)) & 0xff] ^ state >> 8;
  return ~state;
}

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return crc32c_by_instruction(bytes, before);
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace skein::formats
