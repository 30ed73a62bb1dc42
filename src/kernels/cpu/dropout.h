// Random bits of many draws at once. Internal to the CPU kernels.
#pragma once

#include <algorithm>
#include <cstring>

#include "skein/core/philox.h"

#include "simd.h"

namespace skein::kernels {

constexpr int kPhiloxBlocks = 16, kDraws = 4 * kPhiloxBlocks;

using WideLanes = Vector<uint64_t>;
constexpr int kWideLanes = kVectorBytes / 8;

// The products of the low halves of lanes.
inline WideLanes low_products(WideLanes a, uint32_t by) {
#if SKEIN_AVX512
  return (WideLanes)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(by));
#elif defined(__AVX2__)
  return (WideLanes)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(by));
#else
  return (a & 0xFFFFFFFF) * by;
#endif
}

// Words of philox blocks, one block a lane; of a lane the low half counts.
struct PhiloxWords {
  WideLanes w[4];

  void round(uint32_t k0, uint32_t k1) {
    const WideLanes p0 = low_products(w[0], 0xD2511F53), p1 = low_products(w[2], 0xCD9E8D57);
    w[0] = (p1 >> 32) ^ w[1] ^ k0;
    w[1] = p1;
    w[2] = (p0 >> 32) ^ w[3] ^ k1;
    w[3] = p0;
  }

  // to[4 * l + i] = word i of lane l.
  void store(uint32_t* to) const {
    const WideLanes low = (w[0] & 0xFFFFFFFF) | (w[1] << 32),
                    high = (w[2] & 0xFFFFFFFF) | (w[3] << 32);
    uint64_t pairs[2 * kWideLanes];
    for (int l = 0; l < kWideLanes; ++l) pairs[2 * l] = low[l], pairs[2 * l + 1] = high[l];
    std::memcpy(to, pairs, sizeof pairs);
  }
};

// bits[4 * l + w] = philox(key, stream, index + l)[w].
inline void philox_blocks(uint64_t key, uint64_t stream, uint64_t index, uint32_t (&bits)[kDraws]) {
  constexpr int kLanes = kWideLanes, kTogether = 2;
  WideLanes lane;
  for (int l = 0; l < kLanes; ++l) lane[l] = static_cast<uint64_t>(l);
  for (int first = 0; first < kPhiloxBlocks; first += kTogether * kLanes) {
    PhiloxWords words[kTogether];
    for (int v = 0; v < kTogether; ++v) {
      const WideLanes at = lane + (index + static_cast<uint64_t>(first + v * kLanes));
      words[v] = {{at, at >> 32, all<WideLanes>(stream), all<WideLanes>(stream >> 32)}};
    }
    auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85)
      for (PhiloxWords& of : words) of.round(k0, k1);
    for (int v = 0; v < kTogether; ++v) words[v].store(bits + 4 * (first + v * kLanes));
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
  for (uint64_t draw = first, end = first + static_cast<uint64_t>(count); draw < end;) {
    const uint64_t block = draw / 4, stop = std::min(end, block * 4 + kDraws);
    alignas(64) uint32_t bits[kDraws];
    alignas(64) A factors[kDraws];
    philox_blocks(from.key, from.stream, block, bits);
    for (int i = 0; i < kDraws; ++i) factors[i] = bits[i] < from.threshold ? A(0) : keep;
    body(static_cast<int64_t>(draw - first), static_cast<int64_t>(stop - first),
         factors + (draw - block * 4));
    draw = stop;
  }
}

}  // namespace skein::kernels
