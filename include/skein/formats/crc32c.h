// CRC-32C (Castagnoli): reflected polynomial 0x82F63B78, initial and final value all ones.
// The check value of "123456789" is 0xE3069283.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace skein::formats {

// The sum of `bytes` appended to bytes whose sum is `before` (0 for none).
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

// Of numbers that lie one behind the other.
template <class Numbers>
uint32_t crc32c_of(const Numbers& numbers, uint32_t before = 0) {
  return crc32c(std::as_bytes(std::span(numbers)), before);
}

// Of bytes whose sum is `first` and `size` more whose sum is `second`, in no time: the sums are
// polynomials over two elements, and this one is first * x^(8 size) + second.
uint32_t crc32c_joined(uint32_t first, uint32_t second, int64_t size);

// crc32c without the processor's instruction for it: the fallback, and what tests compare with.
uint32_t crc32c_by_table(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace skein::formats
