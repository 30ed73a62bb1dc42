// Random bits of many draws at once. Internal to the CPU kernels.
#pragma once

#include <algorithm>

#include "skein/core/philox.h"

namespace skein::kernels {

constexpr int kPhiloxBlocks = 16;

// bits[w][l] = philox(key, stream, index + l)[w], on vectors.
inline void philox_blocks(uint64_t key, uint64_t stream, uint64_t index,
                          uint32_t (&bits)[4][kPhiloxBlocks]) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int l = 0; l < kPhiloxBlocks; ++l) {
    const uint64_t at = index + static_cast<uint64_t>(l);
    bits[0][l] = static_cast<uint32_t>(at);
    bits[1][l] = static_cast<uint32_t>(at >> 32);
    bits[2][l] = static_cast<uint32_t>(stream);
    bits[3][l] = static_cast<uint32_t>(stream >> 32);
  }
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85)
    for (int l = 0; l < kPhiloxBlocks; ++l) {
      const uint64_t p0 = uint64_t{0xD2511F53} * bits[0][l], p1 = uint64_t{0xCD9E8D57} * bits[2][l];
      bits[0][l] = static_cast<uint32_t>(p1 >> 32) ^ bits[1][l] ^ k0;
      bits[1][l] = static_cast<uint32_t>(p1);
      bits[2][l] = static_cast<uint32_t>(p0 >> 32) ^ bits[3][l] ^ k1;
      bits[3][l] = static_cast<uint32_t>(p0);
    }
}

// The random stream that drops elements with probability threshold / 2^32; number `draw` belongs
// to philox block draw / 4.
struct DropoutStream {
  uint64_t key, stream;
  uint32_t threshold;
};

// Calls body(begin, end, factors) for pieces of [first, first + count) of the stream: factors[i] is
// 0 or keep for draw begin + i.
template <class A, class Body>
void for_dropout_factors(const DropoutStream& from, uint64_t first, int64_t count, A keep,
                         const Body& body) {
  constexpr uint64_t kDraws = 4 * kPhiloxBlocks;
  for (uint64_t draw = first, end = first + static_cast<uint64_t>(count); draw < end;) {
    const uint64_t block = draw / 4, stop = std::min(end, block * 4 + kDraws);
    alignas(64) uint32_t bits[4][kPhiloxBlocks];
    alignas(64) A factors[kDraws];
    philox_blocks(from.key, from.stream, block, bits);
    for (int l = 0; l < kPhiloxBlocks; ++l)
      for (int w = 0; w < 4; ++w) factors[4 * l + w] = bits[w][l] < from.threshold ? A(0) : keep;
    body(static_cast<int64_t>(draw - first), static_cast<int64_t>(stop - first),
         factors + (draw - block * 4));
    draw = stop;
  }
}

}  // namespace skein::kernels
